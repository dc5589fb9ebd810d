"""Prefill apart from decode: what engines and routers need for it beyond a way for the KV cache."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.checks.candidate import Candidate, Check, about
from stacks.problems import Problem
from stacks.rows import DynamoRelease
from stacks.spec import PrefillDecode, SglangEngine, VllmEngine

__all__ = ["CHECKS"]

_TRANSFERRED_BLOCK_TOKENS = 64
"""Blocks from which a transfer keeps up (vllm#50913: 16 did not)."""
_BYPASS = "ai-dynamo 1.6.1, dynamo/frontend/frontend_args.py; Dynamo docs, conditional disaggregation"


def _stays_below(c: Candidate) -> int | None:
    """Uncached tokens below which a prompt is to stay on its decode replica, behind Dynamo's router."""
    shape = c.preset.serving.shape
    if not isinstance(shape, PrefillDecode) or not isinstance(c.rows.release, DynamoRelease):
        return None
    return shape.from_uncached_tokens


@about("serving.engine.kind")
def transferred_blocks(c: Candidate) -> Iterator[Problem]:
    """Small blocks make a transfer of many pieces, whoever routes."""
    serving = c.preset.serving
    block = serving.kv_cache.block_size_tokens
    if not isinstance(serving.shape, PrefillDecode) or not isinstance(serving.engine, VllmEngine):
        return
    if block < _TRANSFERRED_BLOCK_TOKENS:
        yield Problem(
            rule="transfer-block-size",
            path="serving.kv_cache.block_size_tokens",
            value=block,
            why="KV cache moves block by block, and with small ones the transfer takes most of the time",
            allowed="64, 128",
            remedy="raise it",
            source="vllm-project/vllm#50913",
        )


@about("serving.router.kind", "serving.engine.kind", "serving.shape.kind")
def prefill_by_length(c: Candidate) -> Iterator[Problem]:
    """Skipping the prefill replica takes an engine whose decode replicas keep prefixes."""
    below = _stays_below(c)
    if below is not None and isinstance(c.preset.serving.engine, SglangEngine):
        yield Problem(
            rule="conditional-prefill",
            path="serving.shape.from_uncached_tokens",
            value=below,
            why="Dynamo decides so for vLLM and TensorRT-LLM only: SGLang's decode replicas keep no prefixes, so every "
            "prompt goes through a prefill replica",
            allowed="null",
            remedy="leave it out",
            source="Dynamo docs, conditional disaggregation: not supported for SGLang",
        )


@about("serving.router.kind", "serving.engine.kind", "serving.shape.kind", "serving.routing.policy.kind")
def prefill_by_what_is_cached(c: Candidate) -> Iterator[Problem]:
    """Dynamo's router has to be told what decode replicas hold, and looks at more than the length."""
    below = _stays_below(c)
    if below is None or not isinstance(c.preset.serving.engine, VllmEngine):
        return
    if not c.preset.serving.routing.listens:
        yield Problem(
            rule="conditional-prefill-events",
            path="serving.shape.from_uncached_tokens",
            value=below,
            why="Dynamo's frontend refuses to start with it unless engines tell what they have cached: without their "
            "events, nothing would ever look cached on a decode replica",
            allowed="a number with serving.routing.policy {kind: prefix_and_load, cache_view: events}; else null",
            remedy="set the policy so, or leave it out",
            source=_BYPASS,
        )
        return
    yield Problem(
        rule="new-prompts-through-prefill",
        path="serving.shape.from_uncached_tokens",
        value=below,
        why="Dynamo keeps a prompt on a decode replica only if part of it is cached there; a new one goes through a "
        "prefill replica however short it is. The release calls this experimental",
        allowed="a number, meaning so much and no more",
        remedy="leave it out to send every prompt through a prefill replica",
        source=_BYPASS,
        severity="note",
    )


CHECKS: tuple[Check, ...] = (transferred_blocks, prefill_by_length, prefill_by_what_is_cached)
