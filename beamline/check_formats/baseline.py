"""Problems that were there before: a check's JSON of another day, and what of today's is in it.

A team with a stack of many warnings can so have CI fail for new ones alone. A problem is the same when stack, rule and
path are; its value may have changed.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from beamline.check_formats.verdicts import Verdict, fingerprint
from stacks.problems import Problem, ProblemsFound

__all__ = ["beside", "gone", "read_baseline"]


class _Found(BaseModel):
    model_config = ConfigDict(strict=True)
    rule: str
    path: str


class _Stack(BaseModel):
    model_config = ConfigDict(strict=True)
    stack: str
    problems: list[_Found]
    known: list[_Found] = []


class _Checked(BaseModel):
    model_config = ConfigDict(strict=True)
    stacks: list[_Stack]


def read_baseline(file: Path) -> dict[str, set[str]]:
    """Return the fingerprints of a file that ``check --format json`` wrote, by stack; raises ``ProblemsFound``."""
    try:
        checked = _Checked.model_validate_json(file.read_bytes())
    except OSError as error:
        raise _unreadable(file, f"the file cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(step) for step in first["loc"])
        raise _unreadable(file, f"this is no result of check: {place or 'the file'}: {first['msg']}") from error
    return {
        stack.stack: {fingerprint(stack.stack, one.rule, one.path) for one in (*stack.problems, *stack.known)}
        for stack in checked.stacks
    }


def _unreadable(file: Path, why: str) -> ProblemsFound:
    return ProblemsFound(
        [
            Problem(
                rule="baseline",
                path="--baseline",
                value=str(file),
                why=why,
                allowed="a file that `beamline check --format json` wrote",
                remedy="write it anew: beamline check --format json > FILE",
                source="beamline/check_formats/baseline.py",
            )
        ]
    )


def beside(verdict: Verdict, baseline: dict[str, set[str]]) -> Verdict:
    """Return the verdict with what the baseline has set apart."""
    were = baseline.get(verdict.stack, set())

    def is_known(problem: Problem) -> bool:
        return fingerprint(verdict.stack, problem.rule, problem.path) in were

    return replace(
        verdict,
        problems=tuple(p for p in verdict.problems if not is_known(p)),
        known=tuple(p for p in verdict.problems if is_known(p)),
    )


def gone(verdict: Verdict, baseline: dict[str, set[str]]) -> int:
    """Count the problems of the baseline that this stack has no more."""
    found = {fingerprint(verdict.stack, p.rule, p.path) for p in (*verdict.problems, *verdict.known)}
    return len(baseline.get(verdict.stack, set()) - found)
