"""What the engine says, as problems."""

from __future__ import annotations

from beamline.sandbox.home import Home
from beamline.sandbox.pulumi_runs import Run, named
from stacks.problems import Problem

__all__ = ["change_problems", "error_problems"]


def error_problems(home: Home, run: Run, command: str) -> list[Problem]:
    """Return the engine's errors; what it says about no resource ("update failed") only where it says nothing else."""
    about = [error for error in run.errors if error.urn] or run.errors
    return [
        Problem(
            rule="engine",
            path=named(error.urn) if error.urn else f"pulumi {command}",
            why=error.message,
            remedy=f"the whole output is in {home.logs / f'pulumi-{command}.log'}",
            source="Pulumi engine",
        )
        for error in about
    ]


def change_problems(run: Run, why: str) -> list[Problem]:
    """Return a problem for each resource that the engine changed, or found changed, and should not have."""
    return [
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
