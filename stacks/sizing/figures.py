"""One figure, as somebody with pencil and paper needs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stacks.memory import GB, GIB

__all__ = ["Basis", "Figure", "Section", "Unit", "gb", "gib"]

Basis = Literal["catalog", "preset", "derived", "assumed", "unknown"]
"""What a figure rests on: a sourced row, the preset, arithmetic on those, an assumption besides, or nothing yet."""
Unit = Literal["bytes", "tokens", "tokens/s", "GB/s", "s", "USD/h", "disks"]


@dataclass(frozen=True)
class Figure:
    """One figure. ``formula`` has words and numbers, so that it can be done again; ``value`` is None when unknown.

    ``shown_in`` is how people read bytes here: GPUs and weights in GB (10^9), nodes and their disks in GiB (2^30).
    """

    name: str
    value: float | None
    unit: Unit
    formula: str
    basis: Basis
    shown_in: Literal["GB", "GiB", ""] = ""


@dataclass(frozen=True)
class Section:
    """Figures about one thing: a GPU, a node, a replica."""

    name: str
    title: str
    figures: tuple[Figure, ...]


def gb(count: float) -> str:
    """Write bytes in GB."""
    return f"{count / GB:,.2f} GB"


def gib(count: float) -> str:
    """Write bytes in GiB."""
    return f"{count / GIB:,.1f} GiB"
