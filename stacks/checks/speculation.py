"""Speculative decoding: the drafter, its place and the engine's batch must go together."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.checks.candidate import Candidate, about
from stacks.problems import Problem
from stacks.spec import Bucket, HuggingFace, VllmEngine
from stacks.wording import some

__all__ = ["CHECKS"]


@about("serving.engine.kind")
def speculation(c: Candidate) -> Iterator[Problem]:
    """The drafter's block and the engine's batch must agree."""
    speculation, drafter, engine = c.preset.serving.speculation, c.rows.drafter, c.preset.serving.engine
    if speculation is None or drafter is None:
        return
    if speculation.tokens > drafter.max_speculative_tokens:
        yield Problem(
            rule="speculative-tokens",
            path="serving.speculation.tokens",
            value=speculation.tokens,
            why=f"the drafter was trained for at most {some(drafter.max_speculative_tokens, 'token')} a step",
            allowed=f"1 to {drafter.max_speculative_tokens}",
            remedy="lower it",
            source=drafter.source,
        )
    needed = engine.max_sequences * (speculation.tokens + 1)
    if isinstance(engine, VllmEngine) and engine.batched_tokens < needed:
        yield Problem(
            rule="speculative-batch",
            path="serving.engine.batched_tokens",
            value=engine.batched_tokens,
            why=f"with {some(speculation.tokens, 'drafted token')} each, {engine.max_sequences} x "
            f"{speculation.tokens + 1} = {needed} tokens are needed a "
            "step; the engine would silently run fewer sequences",
            allowed=f">= {needed}",
            remedy="raise batched_tokens or lower max_sequences",
            source=f"{c.rows.engine.kind} {c.rows.engine.version}: sequences are cut to batched tokens / (1 + drafted)",
        )


@about("serving.engine.kind")
def drafter_with_files(c: Candidate) -> Iterator[Problem]:
    """Both are sound alone; together they stopped an engine, and what stopped it is still there."""
    serving = c.preset.serving
    if serving.speculation is None or serving.kv_cache.offload.kind != "tiered" or serving.engine.kind != "vllm":
        return
    yield Problem(
        rule="drafter-with-tiers",
        path="serving.speculation",
        value=serving.speculation.drafter,
        why="a drafter above a tier of files stopped an engine in a public report (a prompt with fewer keys than "
        "chunks), and this version has the same assertion: nobody is known to have run both",
        allowed="both, once a long run has shown it",
        remedy="run many sessions before you rely on it, or leave one of them out",
        source="vllm-project/vllm#55503; vLLM 0.33.0, kv_connector/v1/offloading/scheduler.py",
        severity="note",
    )


def drafter_place(c: Candidate) -> Iterator[Problem]:
    """Two sets of weights in one folder: each would be copied with, or taken for, the other."""
    speculation, weights = c.preset.serving.speculation, c.preset.model.weights
    if speculation is None or not _share_a_folder(speculation.weights, weights):
        return
    key = "prefix" if isinstance(weights, Bucket) else "repository"
    yield Problem(
        rule="drafter-weights-place",
        path=f"serving.speculation.weights.{key}",
        value=getattr(speculation.weights, key),
        why="the model's weights come from the same folder, or one folder is inside the other; the engine would load "
        "one set for the other",
        allowed="a folder or repository of its own",
        remedy="say where the drafter's weights are",
        source="vLLM 0.33.0 loads every weights file of the folder it is given",
    )


def _share_a_folder(one: Bucket | HuggingFace, other: Bucket | HuggingFace) -> bool:
    if isinstance(one, Bucket) and isinstance(other, Bucket):
        prefixes = (f"{one.prefix}/", f"{other.prefix}/")
        nested = prefixes[0].startswith(prefixes[1]) or prefixes[1].startswith(prefixes[0])
        return one.bucket == other.bucket and nested
    if isinstance(one, HuggingFace) and isinstance(other, HuggingFace):
        return one.repository == other.repository
    return False


CHECKS = (speculation, drafter_with_files, drafter_place)
