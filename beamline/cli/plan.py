"""`beamline plan`: what a stack would create, what is wrong with it, and every number it rests on.

Needs no cloud, no login and no network: the program runs in this process against an engine in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from beamline.cli.against import Compared, allowing, compare, read_deployment
from beamline.cli.changes import parse_change
from beamline.cli.changes_text import changes_json, changes_table
from beamline.cli.completion import complete_stack_or_preset
from beamline.cli.diff import show_difference
from beamline.cli.endings import end_with
from beamline.cli.output import heading, said, show, show_json, working
from beamline.cli.parameters import AllowReplaceOption, JsonOption, SetOption, StackArgument
from beamline.cli.planning import Plan, plan_stack
from beamline.cli.resource_tree import resource_tree
from beamline.cli.selection import select
from beamline.cli.stack_text import counted, derived_table, evidence_json, evidence_table, summary
from stacks import Problem, ProblemsFound, to_text

__all__ = ["plan"]

_SHOWN_OF_A_RESOURCE = ("urn", "type", "name", "parent", "inputs")

AgainstOption = Annotated[
    Path | None,
    typer.Option(
        "--against",
        metavar="STATE.json",
        help="What is applied, as pulumi stack export writes it: show what would change, and refuse to replace or "
        "delete clusters, node pools, buckets, volumes and networks.",
        exists=True,
        dir_okay=False,
        readable=True,
    ),
]
DiffOption = Annotated[
    str | None,
    typer.Option(
        "--diff",
        metavar="OTHER",
        help="Another stack or preset: show what STACK means, derives and creates otherwise, as in plan --diff OTHER "
        "STACK. --set changes STACK alone. Ends with 0 whether or not they differ.",
        autocompletion=complete_stack_or_preset,
    ),
]


def plan(
    stack: StackArgument,
    changes: SetOption = None,
    diff: DiffOption = None,
    against: AgainstOption = None,
    allow_replace: AllowReplaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a stack would create."""
    assigned = [parse_change(text) for text in changes or []]
    if diff is not None and (against or allow_replace):
        raise typer.BadParameter("--diff compares two plans, --against a plan with a state: ask one of them at a time")
    if diff is not None:
        show_difference(diff, stack, assigned, as_json=as_json)
    if allow_replace and against is None:
        raise typer.BadParameter("--allow-replace needs --against STATE.json: without a state nothing is replaced")
    try:
        selection = allowing(allow_replace or [], select(stack, assigned))
        deployment = read_deployment(against, selection) if against else None
    except ProblemsFound as found:
        _show(stack, None, None, found.problems, as_json=as_json)
        end_with(found.problems)
    with working(f"planning {selection.name}"):
        compared = compare(selection, deployment, against) if deployment and against else None
        planned = compared.plan if compared else plan_stack(selection)
    _show(selection.name, planned, compared, planned.problems, as_json=as_json)
    end_with(planned.problems)


def _show(
    stack: str, planned: Plan | None, compared: Compared | None, problems: Sequence[Problem], *, as_json: bool
) -> None:
    if as_json:
        show_json(_document(stack, planned, compared, problems))
    elif planned is None or planned.spec is None or planned.graph is None:
        show(said(f"{stack}: {counted(problems)}\n"), said(to_text(problems)))
    else:
        custom = [resource for resource in planned.graph.resources if resource.custom]
        show(
            said(f"{stack}: {len(custom)} resources; {counted(problems)}\n"),
            summary(planned.spec),
            *((heading(_changes_heading(compared)), changes_table(compared)) if compared else ()),
            *((heading("problems"), said(to_text(problems))) if problems else ()),
            heading("evidence"),
            evidence_table(planned.spec),
            heading("derived numbers"),
            derived_table(planned.spec),
            heading("resources"),
            resource_tree(planned.graph),
        )


def _changes_heading(compared: Compared) -> str:
    others = f"{compared.new} other resources are new, {compared.gone} gone"
    return f"changes{' in the SIMULATED project' if compared.simulated else ''} ({others})"


def _document(
    stack: str, planned: Plan | None, compared: Compared | None, problems: Sequence[Problem]
) -> dict[str, Any]:
    spec, graph = (planned.spec, planned.graph) if planned else (None, None)
    registered = [resource.to_json() for resource in graph.resources] if graph else []
    return {
        "stack": stack,
        "preset": planned.selection.preset if planned else None,
        "problems": [problem.to_json() for problem in problems],
        "changes": changes_json(compared) if compared else None,
        "resources": [{key: resource[key] for key in _SHOWN_OF_A_RESOURCE} for resource in registered],
        "derived": spec.derived.explained() if spec else [],
        "evidence": evidence_json(spec) if spec else [],
    }
