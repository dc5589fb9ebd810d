"""What the engine says, as problems."""

from __future__ import annotations

from beamline.recovery import named
from beamline.sandbox.home import Home
from beamline.sandbox.pulumi_runs import Run
from stacks.problems import Problem, problems_in

__all__ = ["error_problems", "unexpected"]


def error_problems(home: Home, run: Run, command: str) -> list[Problem]:
    """Return the engine's errors; what it says about no resource ("update failed") only where it says nothing else.

    Problems that the program itself reports are given back as they are.
    """
    told = [problem for error in run.errors for problem in problems_in(error.message)]
    others = [error for error in run.errors if not problems_in(error.message)]
    about = [error for error in others if error.urn] or ([] if told else others)
    engines = [
        Problem(
            rule="engine",
            path=named(error.urn) if error.urn else f"pulumi {command}",
            why=error.message,
            remedy=f"the whole output is in {home.logs / f'pulumi-{command}.log'}",
            source="Pulumi engine",
        )
        for error in about
    ]
    return [*told, *engines]


def unexpected(home: Home, run: Run, command: str, why: str) -> list[Problem]:
    """Return what a run that was to change nothing changed, and what kept it from doing so."""
    changes = [
        Problem(
            rule="unexpected-change",
            path=named(urn),
            value=", ".join(properties) or None,
            why=f"{why}: {operation}",
            remedy="find out who changed it, or name the property in ignore_changes if it is not the stack's to own",
            source="Pulumi engine",
        )
        for urn, (operation, properties) in run.steps.items()
    ]
    if not changes:
        return error_problems(home, run, command)
    return [*changes, *(problem for problem in error_problems(home, run, command) if not _about_nothing(problem))]


def _about_nothing(problem: Problem) -> bool:
    """Tell whether it is only the engine's "no changes were expected but changes were proposed"."""
    return problem.path.startswith("pulumi ")
