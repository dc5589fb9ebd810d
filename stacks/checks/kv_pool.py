"""Settings of the KV pool in GPU memory that an engine takes and then refuses, or that do nothing for a model."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.checks.candidate import Candidate, about
from stacks.problems import Problem
from stacks.spec import VllmEngine

__all__ = ["CHECKS"]

_SOURCE = "vLLM 0.33.0, --prefix-cache-retention-interval: tried on its config classes and cache manager"


@about("serving.engine.kind")
def window_checkpoints(c: Candidate) -> Iterator[Problem]:
    """Sliding windows are kept at ends of blocks, and go to a tier in chunks: other spacings stop the engine's core."""
    engine, cache = c.preset.serving.engine, c.preset.serving.kv_cache
    if not isinstance(engine, VllmEngine) or engine.window_checkpoint_tokens is None:
        return
    if not c.rows.model.architecture.sliding_attention_layers:
        yield Problem(
            rule="window-checkpoint-model",
            path="serving.engine.window_checkpoint_tokens",
            value=engine.window_checkpoint_tokens,
            why=f"{c.rows.model.title} has no sliding windows, so this would do nothing",
            allowed="null",
            remedy="leave it out",
            source=c.rows.model.architecture.source,
        )
        return
    chunk = cache.block_size_tokens * (
        (c.rows.engine.offload.blocks_per_chunk or 1) if cache.offload.kind != "none" else 1
    )
    if engine.window_checkpoint_tokens % chunk:
        yield Problem(
            rule="window-checkpoint",
            path="serving.engine.window_checkpoint_tokens",
            value=engine.window_checkpoint_tokens,
            why="windows are kept at the ends of blocks"
            + (f", and moved to the tier {chunk} tokens at a time" if chunk > cache.block_size_tokens else "")
            + "; the engine takes the flag and stops when its core starts",
            allowed=f"multiples of {chunk}",
            remedy=f"set it to {max(1, round(engine.window_checkpoint_tokens / chunk)) * chunk}",
            source=_SOURCE,
        )


CHECKS = (window_checkpoints,)
