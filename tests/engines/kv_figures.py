"""How the engines divide GPU memory into KV cache, and how the kit does: committed figures, and both sides of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stacks.parallelism import data_parallel
from stacks.resolve import StackSpec
from tests.engines.asking import every_question

__all__ = [
    "BOUND",
    "FILE",
    "Divided",
    "Row",
    "deviation",
    "deviations",
    "figures_text",
    "measured",
    "ours",
    "read_rows",
]

BOUND = 0.01
"""Ours over the engine's, less one: no more than this, either way."""
FILE = Path(__file__).with_name("kv_figures.json")
_AS_OF = "2026-11-30"
_SOURCE = (
    "`make kv-figures`. vLLM: get_kv_cache_configs and get_kv_cache_capacity (vllm/v1/core), one specification per "
    "attention layer, asynchronous scheduling. SGLang: create_memory_pool_configurator (srt/model_executor), arguments "
    "resolved for the GPU that the stack has. Both get the bytes that the kit leaves for KV cache on one GPU"
)


@dataclass(frozen=True)
class Divided:
    """KV cache of one rank: tokens as the engine reports them, and the longest single request."""

    tokens: int
    longest_request_tokens: int


@dataclass(frozen=True)
class Row:
    """What an engine makes of so many bytes, and the stacks (a role of theirs behind a slash) that leave it these."""

    stacks: tuple[str, ...]
    engine: str
    bytes_per_rank: int
    theirs: Divided
    parts: Mapping[str, Any]
    """Blocks and groups, or pools."""

    @property
    def decodes_only(self) -> bool:
        """Whether it is of decode workers."""
        return self.stacks[0].endswith("/decode")


def deviation(ours: int, theirs: int) -> float:
    """Return by how much ours is above theirs, as a share of theirs."""
    return ours / theirs - 1


def ours(spec: StackSpec, *, decodes_only: bool) -> Divided:
    """What the kit says that one rank of a stack holds."""
    found = spec.derived
    tokens = found.decode_kv_tokens_per_replica if decodes_only else found.kv_tokens_per_replica
    assert tokens is not None
    return Divided(tokens // data_parallel(spec.preset.serving), found.kv_longest_request_tokens)


def deviations(row: Row, specs: Mapping[str, StackSpec]) -> list[float]:
    """Return how far the kit's tokens are from the engine's, for each of the row's stacks."""
    names = (stack.partition("/")[0] for stack in row.stacks)
    return [deviation(ours(specs[name], decodes_only=row.decodes_only).tokens, row.theirs.tokens) for name in names]


def measured(answers: Mapping[str, Mapping[str, Any]]) -> list[Row]:
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
    return [_row({"stacks": list(stacks), **asked}) for asked, stacks in found.values()]


def figures_text(rows: Iterable[Row], versions: Mapping[str, str]) -> str:
    """Return the file: one row a line."""
    head = {"source": _SOURCE, "as_of": _AS_OF, "versions": {name: versions[name] for name in ("vllm", "sglang")}}
    lines = ",\n".join(f"  {json.dumps(_json(row))}" for row in rows)
    return f'{json.dumps(head, indent=1)[:-2]},\n "rows": [\n{lines}\n ]\n}}\n'


def read_rows() -> list[Row]:
    """Return the committed figures."""
    return [_row(row) for row in json.loads(FILE.read_text(encoding="utf-8"))["rows"]]


def _row(row: Mapping[str, Any]) -> Row:
    parts = {key: value for key, value in row.items() if key not in _NO_PARTS}
    theirs = Divided(row["tokens"], row["longest_request_tokens"])
    return Row(tuple(row["stacks"]), row["engine"], row["bytes_per_rank"], theirs, parts)


_NO_PARTS = ("stacks", "engine", "bytes_per_rank", "tokens", "longest_request_tokens")


def _json(row: Row) -> dict[str, Any]:
    return {
        "stacks": list(row.stacks),
        "engine": row.engine,
        "bytes_per_rank": row.bytes_per_rank,
        "tokens": row.theirs.tokens,
        "longest_request_tokens": row.theirs.longest_request_tokens,
        **row.parts,
    }
