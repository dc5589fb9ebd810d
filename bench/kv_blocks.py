"""How far the kit's KV cache is from what the engines' own code makes of the same bytes, by the committed figures.

``make kv-figures`` lets the engines write ``kv_figures.json``; docs/kv-blocks.md is its table beside the kit's figures.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stacks import StackSpec
from stacks.parallelism import data_parallel

__all__ = [
    "BOUND",
    "FILE",
    "Divided",
    "EngineFigures",
    "HostTier",
    "deviation",
    "deviations",
    "figures_of",
    "ours",
    "read_figures",
    "read_host_tiers",
    "tier_deviations",
]

BOUND = 0.01
"""The kit's tokens over the engine's, less one: no more than this, either way."""
FILE = Path(__file__).with_name("kv_figures.json")
_NO_PARTS = ("stacks", "engine", "bytes_per_rank", "tokens", "longest_request_tokens")


@dataclass(frozen=True)
class Divided:
    """KV cache of one rank: tokens as the engine reports them, and the longest single request."""

    tokens: int
    longest_request_tokens: int


@dataclass(frozen=True)
class EngineFigures:
    """What an engine makes of so many bytes, and the stacks (a role of theirs behind a slash) that leave it these."""

    stacks: tuple[str, ...]
    engine: str
    bytes_per_rank: int
    theirs: Divided
    parts: Mapping[str, Any]
    """Blocks and groups, or pools."""

    @property
    def names(self) -> list[str]:
        """The stacks without roles."""
        return [stack.partition("/")[0] for stack in self.stacks]

    @property
    def decodes_only(self) -> bool:
        """Whether it is of decode workers."""
        return self.stacks[0].endswith("/decode")


@dataclass(frozen=True)
class HostTier:
    """What an engine's tier in host memory holds, of one data parallel rank: tokens by their full layers."""

    stacks: tuple[str, ...]
    engine: str
    tokens: int

    @property
    def names(self) -> list[str]:
        """The stacks without roles."""
        return [stack.partition("/")[0] for stack in self.stacks]


def deviation(ours: int, theirs: int) -> float:
    """Return by how much ours is above theirs, as a share of theirs."""
    return ours / theirs - 1


def ours(spec: StackSpec, *, decodes_only: bool) -> Divided:
    """Return what the kit says that one rank of a stack holds; without decode workers, all do the same."""
    found = spec.derived
    decode = found.decode_kv_tokens_per_replica if decodes_only else None
    tokens = found.kv_tokens_per_replica if decode is None else decode
    return Divided(tokens // data_parallel(spec.preset.serving), found.kv_longest_request_tokens)


def deviations(row: EngineFigures, specs: Mapping[str, StackSpec]) -> list[float]:
    """Return how far the kit's tokens are from the engine's, for each of the row's stacks that is in ``specs``."""
    known = [specs[name] for name in row.names if name in specs]
    return [deviation(ours(spec, decodes_only=row.decodes_only).tokens, row.theirs.tokens) for spec in known]


def tier_deviations(tier: HostTier, specs: Mapping[str, StackSpec]) -> list[float]:
    """Return the same of tokens in host memory."""
    known = [specs[name] for name in tier.names if name in specs]
    return [
        deviation(spec.derived.host_tier_tokens_per_replica // data_parallel(spec.preset.serving), tier.tokens)
        for spec in known
    ]


def read_host_tiers() -> list[HostTier]:
    """Return the committed figures of tiers in host memory."""
    tiers = json.loads(FILE.read_text(encoding="utf-8"))["host_tiers"]
    return [HostTier(tuple(tier["stacks"]), tier["engine"], tier["tokens"]) for tier in tiers]


def read_figures() -> list[EngineFigures]:
    """Return the committed figures."""
    return [figures_of(row) for row in json.loads(FILE.read_text(encoding="utf-8"))["rows"]]


def figures_of(row: Mapping[str, Any]) -> EngineFigures:
    """Return one line of the file."""
    parts = {key: value for key, value in row.items() if key not in _NO_PARTS}
    theirs = Divided(row["tokens"], row["longest_request_tokens"])
    return EngineFigures(tuple(row["stacks"]), row["engine"], row["bytes_per_rank"], theirs, parts)
