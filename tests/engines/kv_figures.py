"""The engines' answers about KV cache as the file that is committed: ``bench/kv_figures.json``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from bench.kv_blocks import EngineFigures, figures_of
from tests.engines.asking import every_question

__all__ = ["figures_text", "measured"]

_AS_OF = "2026-11-30"
_SOURCE = (
    "`make kv-figures`. vLLM: get_kv_cache_configs and get_kv_cache_capacity (vllm/v1/core), one specification per "
    "attention layer, asynchronous scheduling. SGLang: create_memory_pool_configurator (srt/model_executor), arguments "
    "resolved for the GPU that the stack has. Both get the bytes that the kit leaves for KV cache on one GPU"
)


def measured(answers: Mapping[str, Mapping[str, Any]]) -> list[EngineFigures]:
    """Return the engines' answers, those to equal questions in one row."""
    verdicts = {verdict["name"]: verdict for answer in answers.values() for verdict in answer["verdicts"]}
    found: dict[str, tuple[dict[str, Any], dict[str, None]]] = {}
    for first, cases in every_question().items():
        capacity = verdicts[first].get("capacity")
        if capacity is None:
            continue
        asked = {"engine": cases[0].engine, "bytes_per_rank": cases[0].kv_bytes_per_rank, **capacity}
        _, stacks = found.setdefault(json.dumps([asked, cases[0].decodes_only]), (asked, {}))
        stacks |= {f"{case.name.split('/')[0]}{'/decode' * case.decodes_only}": None for case in cases}
    return [figures_of({"stacks": list(stacks), **asked}) for asked, stacks in found.values()]


def figures_text(rows: Iterable[EngineFigures], versions: Mapping[str, str]) -> str:
    """Return the file: one row a line."""
    head = {"source": _SOURCE, "as_of": _AS_OF, "versions": {name: versions[name] for name in ("vllm", "sglang")}}
    lines = ",\n".join(f"  {json.dumps(_json(row))}" for row in rows)
    return f'{json.dumps(head, indent=1)[:-2]},\n "rows": [\n{lines}\n ]\n}}\n'


def _json(row: EngineFigures) -> dict[str, Any]:
    return {
        "stacks": list(row.stacks),
        "engine": row.engine,
        "bytes_per_rank": row.bytes_per_rank,
        "tokens": row.theirs.tokens,
        "longest_request_tokens": row.theirs.longest_request_tokens,
        **row.parts,
    }
