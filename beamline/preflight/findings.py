"""One line of the result: what was asked, what was found, what is needed, and what to do when they differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from beamline.preflight.target import Target
from beamline.preflight.world import World
from stacks.problems import Problem

__all__ = ["Check", "Finding", "Standing", "always"]

Answer = TypeVar("Answer")


class Standing(StrEnum):
    """How a question ended. ``UNKNOWN`` is not ``OK``: nobody looked."""

    OK = "ok"
    PROBLEM = "problem"
    UNKNOWN = "could not look"


@dataclass(frozen=True)
class Finding:
    """One answer. ``rule`` is the id of a problem; ``path`` the user's key that decides about it."""

    asked: str
    found: str
    needed: str = ""
    path: str = ""
    standing: Standing = Standing.OK
    rule: str = ""
    remedy: str = ""
    source: str = ""

    @classmethod
    def unknown(cls, asked: str, reason: str, remedy: str = "", path: str = "") -> Finding:
        """Return the answer to a question nobody could be asked."""
        return cls(asked, reason, standing=Standing.UNKNOWN, remedy=remedy or "run preflight again", path=path)

    @classmethod
    def problem(
        cls, rule: str, path: str, asked: str, *, found: str, needed: str, remedy: str, source: str = ""
    ) -> Finding:
        """Return an answer that stops the stack from working."""
        return cls(asked, found, needed, path, Standing.PROBLEM, rule, remedy, source)

    def as_problem(self) -> Problem:
        """Return the finding in the shape of every other problem."""
        return Problem(
            rule=self.rule,
            path=self.path,
            why=f"{self.asked}: {self.found}",
            allowed=self.needed,
            remedy=self.remedy,
            source=self.source,
        )

    def to_json(self) -> dict[str, object]:
        """Return the record as JSON-ready data."""
        return asdict(self)


def always(_: Target) -> bool:
    """Ask about every stack."""
    return True


@dataclass(frozen=True)
class Check(Generic[Answer]):
    """One question: ``look`` asks and may fail in any way, ``judge`` is a function of the answer alone.

    ``rules`` are the ids of the problems it can find; ``source`` says who says that the stack needs this.
    """

    id: str
    asks: str
    source: str
    rules: tuple[str, ...]
    look: Callable[[Target, World], Answer]
    judge: Callable[[Target, Answer], list[Finding]]
    applies: Callable[[Target], bool] = always
    deadline_s: float = 60.0
