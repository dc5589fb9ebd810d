"""Which process is killed during which kind of work, and at which operation: decided by a seed before anything runs."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Kill", "Victim", "Work", "schedule"]

_LANDS = 0.7
"""Share of kills that wait until something is left behind."""


class Victim(StrEnum):
    """What is killed with SIGKILL."""

    ENGINE = "engine"
    GOOGLE = "simulated Google provider"
    KUBERNETES = "Kubernetes provider"
    HOST = "language host"


class Work(StrEnum):
    """What the engine is at."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True)
class Kill:
    """One kill to come."""

    number: int
    work: Work
    victim: Victim
    choice: float
    """Which of the operations that there are, as a fraction of the way through them."""
    lands: bool
    """Wait until the cloud or cluster has begun, so that the operation surely left something behind."""

    @property
    def updates(self) -> int:
        """Return how many updates there are up to this kill: which of the changes the stack is to have."""
        return (self.number + 1) // len(Work)  # the second of each round


def schedule(seed: int, count: int) -> list[Kill]:
    """Return ``count`` kills in rounds of create, update and delete, in which every pair comes up before one returns.

    A destroy runs no program, so there is no language host to kill in it.
    """
    dice = random.Random(seed)  # noqa: S311 - not a secret
    victims = {work: _shuffled(dice, _victims(work)) for work in Work}
    return [
        Kill(number, work, next(victims[work]), dice.random(), dice.random() < _LANDS)
        for number, work in zip(range(1, count + 1), itertools.cycle(Work), strict=False)
    ]


def _victims(work: Work) -> list[Victim]:
    return [victim for victim in Victim if not (work is Work.DELETE and victim is Victim.HOST)]


def _shuffled(dice: random.Random, victims: list[Victim]) -> itertools.cycle[Victim]:
    return itertools.cycle(dice.sample(victims, len(victims)))
