"""`beamline down`: a stack that was applied with ``pulumi up``, taken down for good."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from beamline.cli.completion import complete_stack
from beamline.cli.endings import problems_as_result
from beamline.cli.output import said, show, show_json, tell
from beamline.cli.parameters import JsonOption
from beamline.cli.planning import CHECKOUT
from beamline.cli.recover import nobody_can_be_asked
from beamline.cli.selection import applied_stack
from beamline.recovery import own_engine
from beamline.takedown import Takedown, take_down, takedown
from stacks import ProblemsFound, to_text
from stacks.problems import has_errors

__all__ = ["down"]


def down(
    stack: Annotated[
        str, typer.Argument(metavar="STACK", help="A stack of your Pulumi backend.", autocompletion=complete_stack)
    ],
    yes: Annotated[
        str | None, typer.Option("--yes", metavar="NAME", help="The stack's name again, in place of the question.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Destroy a stack in the cloud, protected or not.

    Says what will be lost, asks for the stack's name, lifts Pulumi's protection, destroys, and looks whether anything
    is left. Needs pulumi on PATH and your login.
    """
    name = applied_stack(stack)
    if yes is not None and yes != name:
        raise typer.BadParameter(f"--yes {yes} is not the stack's name, {name}; nothing was touched")
    with problems_as_result(as_json=as_json):
        engine = own_engine(CHECKOUT)
        known = takedown(engine, name)
        if has_errors(known.problems):
            raise ProblemsFound(known.problems)
        if known.resources:
            tell(_announcement(known))
            _confirm(name, yes)
            take_down(engine, known)
    if as_json:
        problems = [problem.to_json() for problem in known.problems]
        show_json({**asdict(known), "problems": problems})
    else:
        show(said(_result(known)))


def _announcement(known: Takedown) -> str:
    whose = f"{known.stack} of project {known.project}, in {known.backend}"
    lines = [
        f"{whose}: all {known.resources} resources will be deleted, and what is in them",
        f"  among them: {', '.join(known.guarded) or 'no cluster, node pool, bucket, volume or network'}",
        f"  unprotected first: {', '.join(known.protected) or 'none is protected'}",
        "  not touched: weights in buckets that are not the stack's own, reservations, DNS names, certificates",
    ]
    return "\n".join([*lines, *([to_text(known.problems)] if known.problems else [])])


def _confirm(stack: str, yes: str | None) -> None:
    if yes is not None:
        return
    if nobody_can_be_asked():
        raise typer.BadParameter(f"nobody can be asked here; to mean it: --yes {stack}")
    if typer.prompt(f"write {stack} to delete it", err=True) != stack:
        raise typer.BadParameter("that is not the stack's name; nothing was touched")


def _result(known: Takedown) -> str:
    if not known.resources:
        return f"{known.stack}: has no resources"
    return (
        f"{known.stack}: {known.resources} resources deleted, none left; "
        f"to forget its history and settings, too: pulumi stack rm {known.stack}"
    )
