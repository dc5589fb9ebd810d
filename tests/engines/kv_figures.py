"""The engines' answers about KV cache as the file that is committed: ``bench/kv_figures.json``."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any

from bench.kv_blocks import EngineFigures, HostTier, figures_of
from tests.engines.asking import Case, every_question

__all__ = ["figures_text", "host_tiers", "measured"]

_AS_OF = "2026-11-30"
_SOURCE = (
    "`make kv-figures`. vLLM: get_kv_cache_configs and get_kv_cache_capacity (vllm/v1/core), one specification per "
    "attention layer, asynchronous scheduling. SGLang: create_memory_pool_configurator (srt/model_executor), arguments "
    "resolved for the GPU that the stack has. Both get the bytes that the kit leaves for KV cache on one GPU. "
    "Host tiers: chunks of vLLM's offloading specification (v1/kv_offload/cpu), over its groups of full layers; "
    "SGLang's own division of hicache-size among pools (srt/mem_cache/hybrid_cache)"
)


def measured(answers: Mapping[str, Mapping[str, Any]]) -> list[EngineFigures]:
    """Return what the engines make of GPU memory, equal answers to equal questions in one row."""
    return [figures_of(row) for row in _rows(answers, lambda case, verdict: _in_gpus(case, verdict.get("capacity")))]


def host_tiers(answers: Mapping[str, Mapping[str, Any]]) -> list[HostTier]:
    """Return what the engines make of their tiers in host memory."""
    found = _rows(answers, lambda case, verdict: _in_host(case, verdict.get("host_tier_tokens")))
    return [HostTier(tuple(row["stacks"]), row["engine"], row["tokens"]) for row in found]


def _in_gpus(case: Case, capacity: dict[str, Any] | None) -> dict[str, Any] | None:
    return capacity and {"engine": case.engine, "bytes_per_rank": case.kv_bytes_per_rank, **capacity}


def _in_host(case: Case, tokens: int | None) -> dict[str, Any] | None:
    return {"engine": case.engine, "tokens": tokens} if tokens is not None and case.host_tier else None


def _rows(answers: Mapping[str, Mapping[str, Any]], said: Callable[[Case, Any], Any]) -> list[dict[str, Any]]:
    verdicts = {verdict["name"]: verdict for answer in answers.values() for verdict in answer["verdicts"]}
    found: dict[str, tuple[dict[str, Any], dict[str, None]]] = {}
    for first, cases in every_question().items():
        row = said(cases[0], verdicts[first])
        if row is not None:
            _, stacks = found.setdefault(json.dumps([row, cases[0].decodes_only]), (row, {}))
            stacks |= {f"{case.name.split('/')[0]}{'/decode' * case.decodes_only}": None for case in cases}
    return [{"stacks": list(stacks), **row} for row, stacks in found.values()]


def figures_text(answers: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the file: one row a line."""
    versions = answers["vllm"]["versions"]
    head = {"source": _SOURCE, "as_of": _AS_OF, "versions": {name: versions[name] for name in ("vllm", "sglang")}}
    rows = [_json(row) for row in measured(answers)]
    tiers = [dataclasses.asdict(tier) for tier in host_tiers(answers)]
    return f'{json.dumps(head, indent=1)[:-2]},\n "rows": {_lines(rows)},\n "host_tiers": {_lines(tiers)}\n}}\n'


def _lines(rows: list[dict[str, Any]]) -> str:
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    return f"[\n{lines}\n ]"


def _json(row: EngineFigures) -> dict[str, Any]:
    return {
        "stacks": list(row.stacks),
        "engine": row.engine,
        "bytes_per_rank": row.bytes_per_rank,
        "tokens": row.theirs.tokens,
        "longest_request_tokens": row.theirs.longest_request_tokens,
        **row.parts,
    }
