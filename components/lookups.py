"""Looks up what is there already, and says what is missing or wrong with it the way a stack's own problems are said.

A lookup runs in ``preview`` too, so that a missing network or an unfit cluster ends the preview and not the update. In
a plan nobody is asked: everything looked up stays unknown.

An exception inside an ``apply`` reaches a language host as it is, and the official one shows its traceback. So the
problems are told here, and the program ends itself as ``components.program`` explains.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from components.program import problems_reported
from stacks.problems import Problem, ProblemsFound

__all__ = ["Wanted", "looked_up"]


@dataclass(frozen=True)
class Wanted:
    """One thing that has to be there: the key of the user's settings that names it, the name, and what it is called."""

    path: str
    name: str
    what: str
    result: pulumi.Output[Any]


@dataclass(frozen=True)
class _Failed:
    reason: str


def looked_up(
    wanted: Mapping[str, Wanted], judge: Callable[[Mapping[str, Any]], list[Problem]]
) -> pulumi.Output[dict[str, Any]]:
    """Return the results of all lookups, by key, once all are found and ``judge`` has nothing to say against them.

    Otherwise the update ends with every problem at once: a ``SystemExit`` whose cause is ``ProblemsFound``.
    """
    results = {key: item.result.recover(lambda error: _Failed(str(error))) for key, item in wanted.items()}

    def judged(found: dict[str, Any]) -> dict[str, Any]:
        problems = [_missing(wanted[key], value) for key, value in found.items() if isinstance(value, _Failed)]
        with problems_reported():
            if problems := problems or judge(found):
                raise ProblemsFound(problems)
        return found

    return pulumi.Output.all(**results).apply(judged)


def _missing(item: Wanted, failed: _Failed) -> Problem:
    return Problem(
        rule="not-found",
        path=item.path,
        value=item.name,
        why=f"Google does not show {item.what}: {failed.reason.strip()}",
        allowed=f"{item.what} that exists in the stack's project and region and that you may look at",
        remedy="correct the name, or make it first",
        source="Google Cloud, asked now",
    )
