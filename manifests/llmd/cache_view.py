"""How the picker knows what replicas have cached, and how much that counts: producers of matches, and their scorers.

- ``approximate``: it remembers which replica it sent which blocks of a prompt to, up to the size of the replica's GPU
  cache, which it reads from the replica's metrics. The size of a tier below GPU memory is in no metric: a second
  memory, as large as the tier, has a scorer of its own. It holds what the first one holds, and what the GPU dropped.
- ``events``: replicas publish what they store and drop. Blocks are then found by tokens, so prompts are tokenized as
  the engine does it; the engines themselves are asked to, see ``manifests.llmd.tokenizing``.
- ``round_robin`` is no policy of the picker's. Its scorer for requests of which no replica has anything cached gives
  the best mark to the replica that was chosen longest ago: with a memory that is told to remember nothing, every
  request is such a one. Requests that arrive at the same instant can get the same replica.

Source: llm-d-router v0.10.0, requestcontrol/dataproducer/approximateprefix (types.go, plugin.go: minBlockSizeTokens,
resolveMaxBlocks), preciseprefixcache; scheduling/scorer/{prefix,nohitlru}
"""

from __future__ import annotations

from typing import Any

from manifests.chosen import llmd_release, publishes_events
from manifests.llmd.kv_events import index_parameters
from manifests.llmd.plugins import Part, Plugin
from manifests.llmd.tokenizing import token_producer
from stacks.resolve import StackSpec
from stacks.roles import Role
from stacks.spec import PrefixAndLoad, RoundRobin

__all__ = ["APPROXIMATE", "EVENTS", "approximate_producer", "cache_view"]

APPROXIMATE = "approx-prefix-cache-producer"
EVENTS = "precise-prefix-cache-producer"
_SCORER = "prefix-cache-scorer"
_LOWER_TIER = "lower-tier"
_NOTHING = "remembers-nothing"
_SMALLEST_BLOCK_TOKENS = 64
"""The picker takes smaller blocks for this size, to bound its memory (llm-d-router#1158)."""


def cache_view(spec: StackSpec, role: Role) -> Part:
    """Return what chooses among the replicas of one role by what they have cached, and by how busy they are."""
    match spec.preset.serving.routing.policy:
        case RoundRobin():
            return _in_turn()
        case PrefixAndLoad() as policy:
            return _by_prefix(spec, policy, role) + _by_load(spec, policy)


def _in_turn() -> Part:
    nothing = {"autoTune": False, "blockSizeTokens": _SMALLEST_BLOCK_TOKENS, "maxPrefixTokensToMatch": 1}
    return Part(
        needs=(Plugin(APPROXIMATE, nothing, name=_NOTHING),),
        chooses=(Plugin("no-hit-lru-scorer", {"prefixMatchInfoProducerName": _NOTHING}, weight=1),),
    )


def _by_prefix(spec: StackSpec, policy: PrefixAndLoad, role: Role) -> Part:
    weight = (policy.scorers or llmd_release(spec).scorer_weights).prefix_cache
    if weight == 0:
        return Part()
    if publishes_events(spec):
        return Part(
            needs=(token_producer(spec), Plugin(EVENTS, index_parameters(spec))),
            chooses=(Plugin(_SCORER, {"prefixMatchInfoProducerName": EVENTS}, weight=weight),),
        )
    found = Part(needs=(approximate_producer(spec),), chooses=(Plugin(_SCORER, weight=weight),))
    tier_tokens = spec.derived.host_tier_tokens_per_replica + spec.derived.ssd_tier_tokens_per_replica
    return found + _below_gpu_memory(spec, tier_tokens, weight) if role.tiered else found


def _below_gpu_memory(spec: StackSpec, tokens: int, weight: int) -> Part:
    block = max(_SMALLEST_BLOCK_TOKENS, spec.preset.serving.kv_cache.block_size_tokens)
    memory = {"autoTune": False, "blockSizeTokens": block, "lruCapacityPerServer": tokens // block, **_whole(spec)}
    share = llmd_release(spec).scorer_weights.lower_tier_share
    scorer = Plugin(
        _SCORER,
        {"prefixMatchInfoProducerName": _LOWER_TIER},
        name=f"{_LOWER_TIER}-{_SCORER}",
        weight=round(weight * share, 3),
    )
    return Part(needs=(Plugin(APPROXIMATE, memory, name=_LOWER_TIER),), chooses=(scorer,))


def approximate_producer(spec: StackSpec) -> Plugin:
    """What remembers which replica has seen which prefix."""
    return Plugin(APPROXIMATE, _whole(spec))


def _whole(spec: StackSpec) -> dict[str, Any]:
    """Both caps lifted where a prompt can be longer: 0 means all of it.

    By default the picker stops comparing after a fixed number of tokens, so that all longer prompts that begin alike
    look the same (llm-d-router#1217, #1548).
    """
    if spec.preset.serving.context_tokens <= llmd_release(spec).prefix_matching.default_max_tokens:
        return {}
    return {"maxPrefixTokensToMatch": 0, "maxPrefixBlocksToMatch": 0}


def _by_load(spec: StackSpec, policy: PrefixAndLoad) -> Part:
    """A weight of 0 leaves a scorer out."""
    weights = policy.scorers or llmd_release(spec).scorer_weights
    scorers = {"queue-scorer": weights.queue, "kv-cache-utilization-scorer": weights.kv_cache_utilization}
    return Part(chooses=tuple(Plugin(name, weight=weight) for name, weight in scorers.items() if weight > 0))
