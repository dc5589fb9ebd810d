"""The frontend's routing flags, from the intent; every one of them here, as workers that name any replace them all.

- Mode ``kv``: the router keeps, from the workers' events, what each has cached, in blocks that must be as long as the
  engine's pages; without events it remembers what it sent where. Which of the two is said, as the default is events,
  and without a publisher every worker would look empty. With several frontends they tell each other what runs where.
- What a worker costs and the queues are in a file (``manifests.dynamo.policy_file``).
- A session keeps its worker: always (hard), or while that worker may be chosen at all (soft): the release's own cost
  function has no way to leave it for a better one. Hard, requests for a worker that died fail until discovery has
  dropped it. Bindings are each frontend's own; the others hear of them.
- A prompt with few tokens left to compute may stay on its decode worker, if some of it is cached there: the router's
  second bound, a share of the prompt, cannot be above the whole, and a prompt without cached blocks is the whole.
Source: ai-dynamo 1.6.1, dynamo/frontend/frontend_args.py; docs, router configuration, session affinity and
conditional disaggregation
"""

from __future__ import annotations

from typing import Any

from manifests.chosen import by_prefix, dynamo_router, publishes_events
from manifests.dynamo.policy_file import POLICY_FILE, POLICY_PATH
from stacks.resolve import StackSpec
from stacks.spec import PrefillDecode

__all__ = ["routing_flags", "stays_on_decode"]


def routing_flags(spec: StackSpec) -> dict[str, Any]:
    """Every routing flag that is set, by name."""
    return {**(_by_cache(spec) if by_prefix(spec) else {"router-mode": "round-robin"}), **_affinity(spec)}


def _by_cache(spec: StackSpec) -> dict[str, Any]:
    return {
        "router-mode": "kv",
        "kv-cache-block-size": spec.preset.serving.kv_cache.block_size_tokens,
        "router-kv-events" if publishes_events(spec) else "no-router-kv-events": True,
        "router-replica-sync": dynamo_router(spec).frontends > 1,
        "router-policy-config": f"{POLICY_PATH}/{POLICY_FILE}",
        **_staying(spec),
    }


def stays_on_decode(spec: StackSpec) -> int | None:
    """Uncached tokens below which a prompt stays on its decode worker; None: every one goes through prefill."""
    shape = spec.preset.serving.shape
    below_tokens = shape.from_uncached_tokens if isinstance(shape, PrefillDecode) else None
    return below_tokens or None  # no prompt has fewer than none


def _staying(spec: StackSpec) -> dict[str, Any]:
    below_tokens = stays_on_decode(spec)
    if below_tokens is None:
        return {}
    bounds = {"policy": "isl_bounding", "eff_isl_threshold": below_tokens, "eff_isl_ratio_threshold": 1.0}
    return {"router-conditional-disagg": True, "router-conditional-disagg-config": bounds}


def _affinity(spec: StackSpec) -> dict[str, Any]:
    affinity = spec.preset.serving.routing.session_affinity
    if affinity is None:
        return {}
    return {
        "router-session-affinity-ttl-secs": affinity.forget_after_s,
        "router-session-affinity-mode": "hard" if affinity.strict else "soft",
    }
