"""Brings the engine's state back in line with the world after an apply that did not end well.

By the same steps that ``beamline recover`` takes for a stack in a real cloud; only that the sandbox may read everything
again, since it owns everything.
"""

from __future__ import annotations

from collections.abc import Sequence

from beamline import recovery
from beamline.sandbox import pulumi_runs
from beamline.sandbox.engine_problems import error_problems
from beamline.sandbox.home import Home
from beamline.sandbox.processes import MARKER
from beamline.sandbox.progress import Progress, Report
from beamline.sandbox.project import environment
from stacks.problems import ProblemsFound, has_errors

__all__ = ["bring_in_line", "engine"]


def engine(home: Home) -> recovery.Engine:
    """Return the sandbox's Pulumi."""
    return recovery.Engine(home.bin / "pulumi", home.project, {**environment(home), MARKER: str(home.folder)})


def bring_in_line(home: Home, stack: str, report: Report) -> None:
    """Clear what was interrupted, and let the engine read everything again. Raises ProblemsFound."""

    def tell(text: str) -> None:
        report(Progress("recover", text))

    def read_everything(_: Sequence[str]) -> None:
        arguments = ("--yes", "--skip-preview", "--skip-pending-creates", "--stack", stack)
        run = pulumi_runs.run(home, "recover", "refresh", *arguments, report=report)
        if run.code != 0:
            raise ProblemsFound(error_problems(home, run, "refresh"))

    tell("the last apply did not end well; reading what is really there")
    pulumi = engine(home)
    found = recovery.mend(pulumi, recovery.look(pulumi, stack, tell, adopt=True), tell, read_everything)
    for outcome in found.outcomes:
        tell(f"{outcome.subject}: {outcome.did}")
    if has_errors(found.problems):
        raise ProblemsFound(found.problems)
