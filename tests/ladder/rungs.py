"""Which presets are neighbours on a ladder: rungs that extend one another, each with one feature more.

A rung is a preset whose name ends in ``-a``, ``-b1`` ... ``-d2`` or ``-d``, and its lower neighbour is the rung of the
same shape that it extends. Nothing is listed: a new rung is found by its name.
"""

from __future__ import annotations

import re
from pathlib import Path

from stacks.preset_files import PRESETS_DIR, preset_names
from stacks.yaml_files import read_yaml

__all__ = ["BESIDE_LADDERS", "PAIRS", "neighbours"]

_RUNG = re.compile(r"(?P<shape>.+)-(a|b[1-3]|c[1-3]|d[12]?)")

BESIDE_LADDERS = (
    ("a4x-max-dynamo", "a4x-max-dynamo-bf16"),
    ("g4-llmd", "g4-llmd-multi"),
)
"""Neighbours that are on no ladder: another precision with another shape, one more node."""


def neighbours(root: Path = PRESETS_DIR) -> list[tuple[str, str]]:
    """Return (lower, upper) for each rung that stands on another one, by name."""
    pairs = []
    for upper in preset_names(root):
        lower = read_yaml(root / f"{upper}.yaml").get("extends")
        if isinstance(lower, str) and _shape(upper) and _shape(upper) == _shape(lower):
            pairs.append((lower, upper))
    return pairs


def _shape(preset: str) -> str | None:
    rung = _RUNG.fullmatch(preset)
    return rung["shape"] if rung else None


PAIRS = sorted({*neighbours(), *BESIDE_LADDERS})
"""All pairs whose comparison is kept and reviewed."""
