"""What the kit says to choices along the axes: which go together, and which rule refuses the others."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from stacks import Problem, StackSpec
from stacks.catalog_files import load_catalog
from tests.fuzz.judging import Answer
from tests.fuzz.sound import COMPOSED
from tests.fuzz.stack_files import answer
from tests.matrix.composing import AXES, KEYS, Choice, composed

__all__ = ["FOUNDATION", "Verdict", "answer_to", "axis_of", "bases", "best", "errors_of", "presets_of"]

FOUNDATION = ("hardware", "weights", "router", "engine")
"""Axes every stack has to choose along first; the others are what may be added."""


@dataclass(frozen=True)
class Verdict:
    """The best that can be said of some choices: the one that plans, or the one with the fewest errors."""

    choice: Choice
    errors: tuple[Problem, ...]

    @property
    def plans(self) -> bool:
        """Whether the choice gives a plan, once its unverified features are accepted."""
        return not self.errors


@cache
def _answer(values: tuple[str, ...]) -> Answer:
    return answer(lambda: composed(dict(zip(AXES, values, strict=True))))


def answer_to(choice: Choice) -> Answer:
    """Return the kit's answer to a choice along all axes; features without evidence are accepted by name."""
    return _answer(tuple(choice[axis] for axis in AXES))


def errors_of(choice: Choice) -> tuple[Problem, ...]:
    """Return what stops a choice."""
    found = answer_to(choice)
    if isinstance(found, StackSpec):
        return ()
    errors = [p for p in found.problems if p.severity == "error"]
    return tuple(p for p in errors if p.rule != "unverified-feature")


def axis_of(path: str) -> str | None:
    """Return the axis that a problem's path is on, None for a path that no axis chooses."""
    return next((axis for axis, key in KEYS.items() if f"{path}.".startswith(f"{key}.")), None)


def best(choices: Iterable[Choice]) -> Verdict:
    """Return the first verdict that plans, or else the one with the fewest errors."""
    least: Verdict | None = None
    for choice in choices:
        verdict = Verdict(choice, errors_of(choice))
        if verdict.plans:
            return verdict
        if least is None or len(verdict.errors) < len(least.errors):
            least = verdict
    if least is None:
        raise ValueError("there is nothing to judge")
    return least


def _around(foundation: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Choices around a foundation that add as little as possible: what the hardware has, and nothing else."""
    transports = load_catalog().hardware[foundation["hardware"]].fabric.transports
    plain = {axis: values[0] for axis, values in AXES.items()} | dict(foundation)
    for nodes, transport in itertools.product(AXES["nodes a replica"], transports or [AXES["transport"][0]]):
        yield {**plain, "nodes a replica": nodes, "transport": transport}


@cache
def bases() -> dict[tuple[str, ...], Verdict]:
    """Return the verdict on every foundation."""
    values = itertools.product(*(AXES[axis] for axis in FOUNDATION))
    return {chosen: best(_around(dict(zip(FOUNDATION, chosen, strict=True)))) for chosen in values}


def presets_of(foundation: tuple[str, ...]) -> list[str]:
    """Return the shipped presets that stand on a foundation."""
    found = []
    for name, preset in COMPOSED.items():
        model, serving = preset["model"], preset["serving"]
        stands_on = (
            preset["accelerator_pools"]["main"]["machine_type"],
            f"{model['name']} {model['checkpoint']}",
            serving["router"]["kind"],
            serving["engine"]["kind"],
        )
        found += [name] if stands_on == foundation else []
    return found
