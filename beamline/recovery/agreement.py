"""Whether something that was found is what was asked for, as far as both say anything about the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, auto
from typing import Any

from beamline.recovery.state import is_secret
from stacks.pulumi_state import SIGNATURE, UNKNOWN_TEXT

__all__ = ["Agreement", "agreement"]


class Agreement(Enum):
    """What a comparison came to."""

    NOTHING = auto()
    """Neither says anything about what the other says."""
    SAME = auto()
    OTHER = auto()


def agreement(asked: Any, found: Any) -> Agreement:
    """Compare what both have, down to the last value; secret and unknown values say nothing.

    The order of a list says nothing either: a cloud keeps some as sets.
    """
    if _says_nothing(asked) or _says_nothing(found):
        return Agreement.NOTHING
    if isinstance(asked, Mapping) and isinstance(found, Mapping):
        both = [key for key in asked if key in found and not str(key).startswith("__")]
        return _together(agreement(asked[key], found[key]) for key in both)
    if isinstance(asked, list) and isinstance(found, list):
        return _together(_among(each, found) for each in asked)
    return Agreement.SAME if _is_same(asked, found) else Agreement.OTHER


def _says_nothing(value: Any) -> bool:
    if isinstance(value, Mapping):
        return SIGNATURE in value
    if isinstance(value, list):
        return False
    return value is None or is_secret(value) or (isinstance(value, str) and UNKNOWN_TEXT in value)


def _together(parts: Iterable[Agreement]) -> Agreement:
    seen = set(parts)
    return next((each for each in (Agreement.OTHER, Agreement.SAME) if each in seen), Agreement.NOTHING)


def _among(asked: Any, found: list[Any]) -> Agreement:
    """Look for one item of a list in another list."""
    if _says_nothing(asked):
        return Agreement.NOTHING
    seen = {agreement(asked, each) for each in found}
    return next((each for each in (Agreement.SAME, Agreement.NOTHING) if each in seen), Agreement.OTHER)


def _is_same(asked: Any, found: Any) -> bool:
    """Compare plain values; a cloud writes paths as links, and some words in capitals."""
    if isinstance(asked, str) and isinstance(found, str):
        one, other = asked.lower(), found.lower()
        return one == other or bool(one and other and (one.endswith(f"/{other}") or other.endswith(f"/{one}")))
    return bool(asked == found)
