"""English for counts: what a message says of one thing and of several."""

from __future__ import annotations

__all__ = ["of", "some"]


def of(count: int, noun: str) -> str:
    """Return ``noun`` in the number that goes with ``count``: replica or replicas, address or addresses."""
    if count == 1:
        return noun
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def some(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 replica``, ``2 replicas``."""
    return f"{count} {of(count, noun)}"
