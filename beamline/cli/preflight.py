"""`beamline preflight`: what only the live project knows, asked before anything is created. Reads only.

`beamline sandbox preflight` asks the same of the SIMULATED project of a sandbox, without credentials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from beamline.cli.endings import Ending, end_with, problems_as_result, show_problems
from beamline.cli.output import counting, heading, said, show, show_json, table, working
from beamline.cli.parameters import JsonOption, StackArgument
from beamline.cli.planning import plan_stack
from beamline.cli.selection import Selection, in_simulated_project, select
from stacks import Problem, has_errors, to_text
from stacks.cloud import SANDBOX_PROJECT
from stacks.settings import NAMESPACE
from stacks.wording import some

if TYPE_CHECKING:
    from beamline.preflight import Check, Report, Target, World

__all__ = ["preflight", "simulated_preflight"]

_PLACEHOLDERS = ("placeholder-project", "placeholder-bucket", "placeholder-reservation")
"""Notes of a plan about names that are nobody's: there is nothing to ask about."""


def preflight(stack: StackArgument, as_json: JsonOption = False) -> None:
    """Ask the live project whether a stack can work.

    Reads only; needs Google credentials. Ends with 1 for problems, else with 3 when something could not be looked at.
    """
    with problems_as_result(as_json=as_json):
        selection = select(stack)
    target = _target(selection, as_json=as_json)
    # Google's client library, which no other verb needs.
    from beamline.preflight import CHECKS, World, from_credentials  # noqa: PLC0415

    world = World(from_credentials(target.project))
    _ask(selection, target, CHECKS, world, as_json=as_json)


def simulated_preflight(stack: StackArgument, as_json: JsonOption = False) -> None:
    """Ask the SIMULATED project what preflight asks Google.

    The sandbox of the stack, where there is one; a project with nothing in it otherwise.
    """
    from beamline.preflight import CLOUD_CHECKS, Google, World  # noqa: PLC0415
    from beamline.registry import RegistryClient  # noqa: PLC0415
    from beamline.sandbox.simulated_google import simulated_google  # noqa: PLC0415

    with problems_as_result(as_json=as_json):
        selection = in_simulated_project(select(stack))
        target = _target(selection, as_json=as_json)
        with simulated_google(selection.name, assumed=target.reserved_machine_types) as endpoint:
            world = World(
                Google(endpoint=endpoint),
                registry=lambda: RegistryClient(stand_in=f"{endpoint}/registries"),
                hub=f"{endpoint}/hub",
            )
            _ask(selection, target, CLOUD_CHECKS, world, as_json=as_json)


def _target(selection: Selection, *, as_json: bool) -> Target:
    """Return the planned stack. One that does not plan, or names nobody's project, ends the verb: nobody is asked."""
    with working(f"planning {selection.name}"):
        planned = plan_stack(selection)
    problems = [_refused(problem, selection) for problem in planned.problems]
    if has_errors(problems) or planned.spec is None or planned.graph is None:
        show_problems(problems, as_json=as_json)
        end_with(problems)
    from beamline.preflight import Target  # noqa: PLC0415

    return Target(planned.spec, planned.graph)


def _refused(problem: Problem, selection: Selection) -> Problem:
    simulated = selection.config[f"{NAMESPACE}:project"] == SANDBOX_PROJECT
    is_placeholder = problem.rule in _PLACEHOLDERS and not simulated
    return replace(problem, severity="error") if is_placeholder else problem


def _ask(selection: Selection, target: Target, checks: Sequence[Check[Any]], world: World, *, as_json: bool) -> None:
    from beamline.preflight import Standing, run_checks  # noqa: PLC0415

    asked = [check for check in checks if check.applies(target)]
    with counting(f"asking about {selection.name}", len(asked)) as progress:
        report = run_checks(asked, target, world, report=lambda _: progress.advance(progress.task_ids[0]))
    if as_json:
        show_json(_document(selection, target, report, simulated=world.google.endpoint is not None))
    else:
        _show(selection, target, report, simulated=world.google.endpoint is not None)
    problems, unknown = report.of(Standing.PROBLEM), report.of(Standing.UNKNOWN)
    raise typer.Exit(Ending.PROBLEMS if problems else Ending.ENVIRONMENT if unknown else Ending.FINE)


def _document(selection: Selection, target: Target, report: Report, *, simulated: bool) -> dict[str, Any]:
    from beamline.preflight import Standing  # noqa: PLC0415

    return {
        "stack": selection.name,
        "preset": selection.preset,
        "project": target.project,
        "simulated": simulated,
        "findings": [
            {"check": check, **finding.to_json()} for check, found in report.findings.items() for finding in found
        ],
        "problems": [finding.as_problem().to_json() for finding in report.of(Standing.PROBLEM)],
    }


def _show(selection: Selection, target: Target, report: Report, *, simulated: bool) -> None:
    from beamline.preflight import Standing  # noqa: PLC0415

    rows = [
        (finding.standing.value, check, finding.asked, finding.found, finding.needed)
        for check, found in report.findings.items()
        for finding in found
    ]
    problems, unknown = report.of(Standing.PROBLEM), report.of(Standing.UNKNOWN)
    where = "SIMULATED project" if simulated else f"project {target.project}"
    counts = f"{len(report.of(Standing.OK))} ok, {some(len(problems), 'problem')}, could not look at {len(unknown)}"
    show(
        said(f"{selection.name}: {where}, {target.zone}: {counts}\n"),
        table(("is", "check", "asked", "found", "needed"), rows, long=("asked", "found", "needed")),
        *((heading("problems"), said(to_text([f.as_problem() for f in problems]))) if problems else ()),
        *((heading("could not look"), table(("asked", "what to do"), [(f.asked, f.remedy) for f in unknown],
                                            long=("asked", "what to do"))) if unknown else ()),
    )  # fmt: skip
