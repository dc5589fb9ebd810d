"""`beamline plan`: what a stack would create, what is wrong with it, and every number it rests on.

Needs no cloud, no login and no network: the program runs in this process against an engine in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from beamline.cli.changes import parse_change
from beamline.cli.endings import end_with
from beamline.cli.output import heading, said, show, show_json, working
from beamline.cli.parameters import JsonOption, StackArgument
from beamline.cli.planning import Plan, plan_stack
from beamline.cli.resource_tree import resource_tree
from beamline.cli.selection import select
from beamline.cli.stack_text import counted, derived_table, evidence_json, evidence_table, summary
from stacks import Problem, ProblemsFound, to_text

__all__ = ["plan"]

_SHOWN_OF_A_RESOURCE = ("urn", "type", "name", "parent", "inputs")

SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a value for this run: a setting (project=...) or a key of the preset (serving.shape.replicas=2). "
        "The value is YAML. Repeatable.",
    ),
]


def plan(stack: StackArgument, changes: SetOption = None, as_json: JsonOption = False) -> None:
    """Show what a stack would create."""
    assigned = [parse_change(text) for text in changes or []]
    try:
        selection = select(stack, assigned)
    except ProblemsFound as found:
        _show(stack, None, found.problems, as_json=as_json)
        end_with(found.problems)
    with working(f"planning {selection.name}"):
        planned = plan_stack(selection)
    _show(selection.name, planned, planned.problems, as_json=as_json)
    end_with(planned.problems)


def _show(stack: str, planned: Plan | None, problems: Sequence[Problem], *, as_json: bool) -> None:
    if as_json:
        show_json(_document(stack, planned, problems))
    elif planned is None or planned.spec is None or planned.graph is None:
        show(said(f"{stack}: {counted(problems)}\n"), said(to_text(problems)))
    else:
        custom = [resource for resource in planned.graph.resources if resource.custom]
        show(
            said(f"{stack}: {len(custom)} resources; {counted(problems)}\n"),
            summary(planned.spec),
            *((heading("problems"), said(to_text(problems))) if problems else ()),
            heading("evidence"),
            evidence_table(planned.spec),
            heading("derived numbers"),
            derived_table(planned.spec),
            heading("resources"),
            resource_tree(planned.graph),
        )


def _document(stack: str, planned: Plan | None, problems: Sequence[Problem]) -> dict[str, Any]:
    spec, graph = (planned.spec, planned.graph) if planned else (None, None)
    registered = [resource.to_json() for resource in graph.resources] if graph else []
    return {
        "stack": stack,
        "preset": planned.selection.preset if planned else None,
        "problems": [problem.to_json() for problem in problems],
        "resources": [{key: resource[key] for key in _SHOWN_OF_A_RESOURCE} for resource in registered],
        "derived": spec.derived.explained() if spec else [],
        "evidence": evidence_json(spec) if spec else [],
    }
