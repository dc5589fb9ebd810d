"""Two sides measured in turn, and what their ratio says.

A B A B ... rather than all of A and then all of B: what else the machine does then slows both sides of a pair alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

__all__ = ["Alone", "Compared", "Pair", "Side", "alternate", "compare", "repeat"]

Side = Callable[[], float]
"""Does one side once and returns how long it took, in seconds."""


@dataclass(frozen=True)
class Pair:
    """One run of each side, one directly after the other; seconds."""

    first_s: float
    second_s: float

    @property
    def ratio(self) -> float:
        """The first side's time over the second's."""
        return self.first_s / self.second_s


@dataclass(frozen=True)
class Compared:
    """What several pairs say: medians, and between which values the ratio was."""

    pairs: int
    first_s: float
    second_s: float
    ratio: float
    """Median of the pairs' ratios, which is not the ratio of the medians."""
    lowest: float
    highest: float


@dataclass(frozen=True)
class Alone:
    """What one side says that is compared with nothing: its median, and between which values it was."""

    runs: int
    median: float
    lowest: float
    highest: float
    unit: str


def repeat(side: Side, runs: int, unit: str) -> Alone:
    """Do a side several times; raises ValueError without a run."""
    found = [side() for _ in range(runs)]
    if not found:
        raise ValueError("nothing was measured")
    return Alone(runs, median(found), min(found), max(found), unit)


def alternate(first: Side, second: Side, pairs: int, *, warm_up: bool) -> list[Pair]:
    """Measure both sides in turn; ``warm_up`` runs each once before, uncounted, so that all caches are as warm."""
    if warm_up:
        first()
        second()
    return [Pair(first(), second()) for _ in range(pairs)]


def compare(pairs: Sequence[Pair]) -> Compared:
    """Return medians and spread; raises ValueError without a pair."""
    if not pairs:
        raise ValueError("nothing was measured")
    ratios = [pair.ratio for pair in pairs]
    return Compared(
        pairs=len(pairs),
        first_s=median(pair.first_s for pair in pairs),
        second_s=median(pair.second_s for pair in pairs),
        ratio=median(ratios),
        lowest=min(ratios),
        highest=max(ratios),
    )
