"""What is asked of a measurement, and whether it was met."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from bench.pairs import Alone, Compared

__all__ = ["Goal", "Question", "Row", "Verdict", "any_broken"]

Verdict = Literal["met", "broken", "aim missed"]


@dataclass(frozen=True)
class Goal:
    """A bound on a figure. One that is no threshold is an aim: to miss it is reported and fails nothing."""

    bound: float
    at_least: bool = False
    threshold: bool = True

    def __str__(self) -> str:
        aim = "" if self.threshold else "aim: "
        return f"{aim}{'at least' if self.at_least else 'at most'} {self.bound:g}"

    def verdict(self, figure: float) -> Verdict:
        """Judge a figure; the bound itself still meets it."""
        if figure >= self.bound if self.at_least else figure <= self.bound:
            return "met"
        return "broken" if self.threshold else "aim missed"


@dataclass(frozen=True)
class Question:
    """One row of the table before it is measured."""

    name: str
    first: str
    """What the first side is; the figure is its time over the second's."""
    second: str
    """What the second side is; empty where something is counted rather than timed."""
    goal: Goal
    notes: str
    """What is in each side and what is not."""


@dataclass(frozen=True)
class Row:
    """One row, measured: a comparison, a figure of one side alone, or a count."""

    question: Question
    measured: Compared | Alone | int

    @property
    def figure(self) -> float:
        """What is judged: the median ratio, the median, or the count."""
        match self.measured:
            case Compared() as found:
                return found.ratio
            case Alone() as found:
                return found.median
            case count:
                return count

    @property
    def verdict(self) -> Verdict:
        """Whether the goal was met."""
        return self.question.goal.verdict(self.figure)


def any_broken(rows: Iterable[Row]) -> bool:
    """Tell whether a threshold was broken; a missed aim is none."""
    return any(row.verdict == "broken" for row in rows)
