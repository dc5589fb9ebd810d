"""Comparing versions by their numbers, never as text or floats."""

from __future__ import annotations

import re

__all__ = ["minor", "numbers", "older"]


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version in order: ``1.35.8-gke.1036000`` gives (1, 35, 8, 1036000)."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def older(version: str, than: str) -> bool:
    """Tell whether ``version`` comes before ``than``."""
    return numbers(version) < numbers(than)


def minor(version: str) -> str:
    """Return major and minor: ``1.35``."""
    return ".".join(str(n) for n in numbers(version)[:2])
