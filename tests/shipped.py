"""The shipped presets: those on a ladder, those beside it, and what each has to be accepted for."""

from __future__ import annotations

import re

from stacks.preset_files import compose, preset_names

__all__ = ["BESIDE_LADDERS", "SHIPPED", "TOPS", "accepted"]

_RUNG = re.compile(r".+-(a|b[1-3]|c[1-3]|d[12]?)")

SHIPPED = tuple(preset_names())
BESIDE_LADDERS = tuple(name for name in SHIPPED if not _RUNG.fullmatch(name))
"""Presets that users start from; whatever is slow is done for these and the tops."""
TOPS = tuple(name for name in SHIPPED if name.endswith("-d2"))
"""The highest rung of each ladder that stands on all others."""


def accepted(preset: str) -> list[str]:
    """Features of a preset that nobody is known to have run: planning it takes these names."""
    evidence = compose(preset, key="preset", where="")[0]["evidence"]
    return sorted(name for name, line in evidence.items() if line["status"] == "unverified")
