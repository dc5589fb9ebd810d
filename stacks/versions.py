"""Comparing versions by their numbers, never as text or floats."""

from __future__ import annotations

import re
from itertools import zip_longest

__all__ = ["minor", "numbers", "older"]


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version in order: ``1.35.8-gke.1036000`` gives (1, 35, 8, 1036000)."""
    return tuple(int(part) for part in re.findall(r"[0-9]+", version))


def older(version: str, than: str) -> bool:
    """Tell whether ``version`` comes before ``than``; a number that is not written counts as 0."""
    pairs = zip_longest(numbers(version), numbers(than), fillvalue=0)
    return next((left < right for left, right in pairs if left != right), False)


def minor(version: str) -> str:
    """Return major and minor: ``1.35``."""
    return ".".join(str(n) for n in numbers(version)[:2])
