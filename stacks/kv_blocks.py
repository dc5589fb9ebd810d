"""How engines divide one rank's GPU memory into KV cache: the arithmetic of vLLM 0.33.0 and of SGLang 0.5.23.

Sizes are of one rank: ``layer_bytes_per_token`` is what a token takes there in one attention layer, keys and values.
``make test-engines`` holds every figure against the engines' own code, and docs/kv-blocks.md has the table.

Source: vllm/v1/core/kv_cache_planning.py (groups, blocks), vllm/v1/kv_cache_interface.py (what a request holds),
vllm/config/vllm.py (batches under way); sglang/srt/model_executor/pool_configurator.py (pools),
sglang/srt/arg_groups/pd_disaggregation_hook.py (requests that a decode worker receives).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from stacks.rows import Architecture, Drafter

__all__ = [
    "KvRoom",
    "LayerGroups",
    "block_bytes",
    "capped_pools",
    "layer_groups",
    "request_blocks",
    "shared_pools",
    "vllm_blocks",
    "window_cap_tokens",
]

_BATCHES_UNDER_WAY = 2
"""vLLM schedules the next batch while one runs (async scheduling, its default): both hold their tokens."""
_ALIKE = 1.5
"""Kinds of layers of nearly the same number share one group size, the larger one; vLLM's own bound."""
_FREEING_INTERVAL_TOKENS = 128
"""SGLang frees what has left a window once in so many decoded tokens (SGLANG_SWA_EVICTION_INTERVAL)."""
_FEW_SEQUENCES, _RECEIVED_PER_SEQUENCE = 32, 2
"""Of at most so many sequences, a decode worker of SGLang takes in so many more for each while they run."""


@dataclass(frozen=True)
class KvRoom:
    """What one rank's KV cache holds: tokens as the engine reports them, and the longest single request."""

    tokens: int
    longest_request_tokens: int


@dataclass(frozen=True)
class LayerGroups:
    """How vLLM cuts attention layers: so many ``layers`` in each group, the last one of a kind filled up.

    ``of_reach`` has the number of groups by how far their layers look back, in tokens; None: over the whole context.
    """

    layers: int
    of_reach: Mapping[int | None, int]

    @property
    def full_layers(self) -> int:
        """Layers that a token takes over the whole context, those that fill a group up included."""
        return self.layers * self.of_reach[None]


def layer_groups(model: Architecture, drafter: Drafter | None) -> LayerGroups:
    """Cut the layers of a model and its drafter into groups of one size: the number of layers of the rarest kind."""
    kinds: Counter[int | None] = Counter({None: model.full_attention_layers})
    if model.sliding_attention_layers:
        kinds[model.sliding_window_tokens] += model.sliding_attention_layers
    if drafter is not None:
        kinds[drafter.sliding_window_tokens] += drafter.layers
    least, most = min(kinds.values()), max(kinds.values())
    size = most if most < _ALIKE * least else least
    return LayerGroups(size, {reach: math.ceil(count / size) for reach, count in kinds.items()})


def block_bytes(groups: LayerGroups, *, block_tokens: int, layer_bytes_per_token: int) -> int:
    """Bytes of one block, whatever group takes it: ``block_tokens`` tokens in every layer of a group."""
    return groups.layers * block_tokens * layer_bytes_per_token


def request_blocks(groups: LayerGroups, tokens: int, *, block_tokens: int, batched_tokens: int) -> int:
    """Blocks that a request of ``tokens`` holds at most.

    Each full group keeps them all; each sliding one its window, the batches under way, and a block for the window's
    uneven start.
    """

    def held(reach: int | None) -> int:
        if reach is None:
            return math.ceil(tokens / block_tokens)
        kept = min(reach - 1 + _BATCHES_UNDER_WAY * batched_tokens, tokens)
        return math.ceil(kept / block_tokens) + 1

    return sum(count * held(reach) for reach, count in groups.of_reach.items())


def vllm_blocks(
    groups: LayerGroups,
    *,
    bytes_per_rank: int,
    layer_bytes_per_token: int,
    block_tokens: int,
    batched_tokens: int,
    context_tokens: int,
) -> KvRoom:
    """Divide ``bytes_per_rank`` as vLLM's hybrid KV cache manager does.

    All groups take blocks from one pool. Its tokens are those of as many requests of ``context_tokens`` as the blocks
    suffice for, fractions included. For a single request one block is never given out.
    """
    blocks = max(0, bytes_per_rank) // block_bytes(
        groups, block_tokens=block_tokens, layer_bytes_per_token=layer_bytes_per_token
    )

    def needed(tokens: int) -> int:
        return request_blocks(groups, tokens, block_tokens=block_tokens, batched_tokens=batched_tokens)

    longest = bisect_right(range(1, blocks * block_tokens + 1), blocks - 1, key=needed)
    return KvRoom(int(blocks / needed(context_tokens) * context_tokens), longest)


def shared_pools(
    model: Architecture,
    *,
    bytes_per_rank: int,
    layer_bytes_per_token: int,
    drafter_bytes_per_token: int,
    page_tokens: int,
    window_ratio: float,
) -> KvRoom:
    """Divide ``bytes_per_rank`` as SGLang does where it keeps prefixes: sliding layers get a share of the full ones'.

    For every token of the full layers' pool there are ``window_ratio`` in the sliding layers'. A drafter keeps every
    token, whatever its window.
    """
    layers = model.full_attention_layers + window_ratio * model.sliding_attention_layers
    of_token = layers * layer_bytes_per_token + drafter_bytes_per_token
    return _pages(max(0, bytes_per_rank) // of_token, page_tokens)


def window_cap_tokens(
    model: Architecture,
    *,
    page_tokens: int,
    sequences: int,
    drafted_tokens: int,
    prompt_tokens: int | None,
) -> int:
    """Tokens of the sliding layers' pool where SGLang keeps no prefixes, in decode workers above all; whole pages.

    Every running sequence gets its window, what is decoded until windows are next freed, and what the next step may
    take (``drafted_tokens`` a step; 0: no drafter). A worker that computes prompts has ``prompt_tokens`` of two chunks
    under way besides; a decode worker (None) the windows of requests that arrive, where it runs few.
    """
    window, step = model.sliding_window_tokens, max(1, drafted_tokens)
    next_step = 2 * drafted_tokens if drafted_tokens else page_tokens
    each = window + _FREEING_INTERVAL_TOKENS * step + page_tokens + next_step
    if prompt_tokens is not None:
        besides = 2 * prompt_tokens + page_tokens
    else:
        few = sequences <= _FEW_SEQUENCES
        besides = _RECEIVED_PER_SEQUENCE * sequences * (window + page_tokens) if few else 0
    return math.ceil((each * sequences + besides) / page_tokens) * page_tokens


def capped_pools(
    model: Architecture,
    *,
    bytes_per_rank: int,
    layer_bytes_per_token: int,
    drafter_bytes_per_token: int,
    page_tokens: int,
    window_tokens: int,
) -> KvRoom:
    """Divide ``bytes_per_rank`` as SGLang does without prefixes: full layers get what ``window_tokens`` leave."""
    windows = window_tokens * model.sliding_attention_layers * layer_bytes_per_token
    of_token = model.full_attention_layers * layer_bytes_per_token + drafter_bytes_per_token
    return _pages(max(0, bytes_per_rank - windows) // of_token, page_tokens)


def _pages(tokens: float, page_tokens: int) -> KvRoom:
    """One request may take the whole pool."""
    whole = int(tokens) // page_tokens * page_tokens
    return KvRoom(whole, whole)
