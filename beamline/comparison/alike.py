"""Which of what came takes the place of which of what went: a decode worker that was cut out of a worker."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["canonical", "pairs"]

_LARGE = 40
"""Values in a thing below which it is shorter to read whole than as differences from another."""
_ALIKE = 0.5
"""Share of equal values from which on two things are the same with changes."""


def canonical(value: Any) -> str:
    """Return one text for each value, the same in every run."""
    return json.dumps(value, sort_keys=True, default=repr)


def pairs(gone: Mapping[str, Any], come: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (gone, come) names of things so alike that one is told by what it has other than the other.

    Where more came than went, or the other way round, each of the larger number gets the one that it is most like, so
    that one can stand for several. Otherwise each is taken once. The answer does not depend on the direction.
    """
    scores = {
        (old, new): score
        for old in gone
        for new in come
        if (score := _alike(_leaves(gone[old]), _leaves(come[new]))) >= _ALIKE
    }
    ranked = sorted(scores, key=lambda pair: (-scores[pair], sorted(pair), pair))
    found: list[tuple[str, str]] = []
    for old, new in ranked:
        old_taken = any(old == pair[0] for pair in found) and len(gone) >= len(come)
        new_taken = any(new == pair[1] for pair in found) and len(come) >= len(gone)
        if not old_taken and not new_taken:
            found.append((old, new))
    return sorted(found)


def _alike(old: Counter[str], new: Counter[str]) -> float:
    larger = max(old.total(), new.total())
    return (old & new).total() / larger if min(old.total(), new.total()) >= _LARGE else 0.0


def _leaves(value: Any) -> Counter[str]:
    return Counter(f"{path}={canonical(leaf)}" for path, leaf in _flattened(value, ""))


def _flattened(value: Any, at: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _flattened(item, f"{at}.{key}")
    elif isinstance(value, list) and value:
        for item in value:
            yield from _flattened(item, f"{at}[]")
    else:
        yield at, value
