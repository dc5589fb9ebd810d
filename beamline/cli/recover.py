"""`beamline recover`: what a killed run left in a stack, explained and cleared. Needs the stack's own backend."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from beamline.cli.completion import complete_stack_or_preset
from beamline.cli.endings import Ending, end_with, problems_as_result
from beamline.cli.output import heading, said, show, show_json, table, tell
from beamline.cli.parameters import JsonOption
from beamline.cli.planning import CHECKOUT
from beamline.cli.selection import applied_stack
from beamline.recovery import Case, Engine, Recovery, look, mend, own_engine
from stacks import Problem, to_text

__all__ = ["nobody_can_be_asked", "recover"]

StackArgument = Annotated[
    str,
    typer.Argument(
        metavar="STACK",
        help="A stack of the Pulumi backend that is logged in to.",
        autocompletion=complete_stack_or_preset,
    ),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Say what was found and would be done; change nothing.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]
AdoptOption = Annotated[
    bool,
    typer.Option(
        "--adopt", help="Also look up what the program is about to create; take over what exists and is as asked for."
    ),
]
SandboxOption = Annotated[bool, typer.Option("--sandbox", help="The stack of that name in its SIMULATED cloud.")]


def recover(
    stack: StackArgument,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    adopt: AdoptOption = False,
    sandbox: SandboxOption = False,
    as_json: JsonOption = False,
) -> None:
    """Clear what a killed run left behind.

    Looks for pending operations, locks and half-done releases, says what it will do about each, and asks. Deletes
    nothing in the cloud. Needs pulumi on PATH and your login.
    """
    if not (dry_run or yes) and (as_json or nobody_can_be_asked()):
        raise typer.BadParameter("nobody can be asked here; say --yes, or --dry-run", param_hint="--yes")
    name = applied_stack(stack)
    with problems_as_result(as_json=as_json), _engine(name, sandbox=sandbox) as engine:
        case = look(engine, name, tell, adopt=adopt)
        if not as_json:
            _show_case(case, sandbox=sandbox)
        stop = dry_run or not case.findings or not (yes or typer.confirm("do this?", err=True))
        recovery = None if stop else mend(engine, case, tell)
    problems = case.notes if recovery is None else recovery.problems
    if as_json:
        show_json(_json(name, case, recovery, problems))
    else:
        _show_recovery(name, recovery, problems)
    if recovery is None and any(not each.is_planned for each in case.findings):
        raise typer.Exit(Ending.PROBLEMS)
    end_with(problems)


def nobody_can_be_asked() -> bool:
    """Tell whether stdin is no terminal."""
    return sys.stdin is None or not sys.stdin.isatty()


@contextmanager
def _engine(name: str, *, sandbox: bool) -> Iterator[Engine]:
    if not sandbox:
        yield own_engine(CHECKOUT)
        return
    from beamline.sandbox import opened  # noqa: PLC0415 - servers, kopf and Pulumi, which a user's stack does not need

    with opened(name, report=lambda progress: tell(str(progress))) as engine:
        yield engine


def _show_case(case: Case, *, sandbox: bool) -> None:
    where = " in a SIMULATED cloud" if sandbox else ""
    if not case.findings:
        show(said(f"{case.stack}{where}: nothing was left behind"))
        return
    rows = [(each.subject, each.found, each.will) for each in case.findings]
    show(said(f"{case.stack}{where}: what was found"), table(("what", "found", "will"), rows))


def _show_recovery(name: str, recovery: Recovery | None, problems: Sequence[Problem]) -> None:
    if recovery is not None:
        rows = [(each.subject, each.did) for each in recovery.outcomes]
        show(heading("done"), *([table(("what", "did"), rows)] if rows else [said("nothing had to be changed")]))
    if problems:
        is_work = any(problem.severity != "note" for problem in problems)
        show(heading("by hand" if is_work else "to know"), said(to_text(problems)))
    if recovery is not None:
        show(said(f"\nnext: pulumi up --stack {name}, or pulumi destroy --stack {name}"))


def _json(name: str, case: Case, recovery: Recovery | None, problems: Sequence[Problem]) -> dict[str, Any]:
    found = [
        {"subject": each.subject, "found": each.found, "will": each.will, "by_hand": each.by_hand}
        for each in case.findings
    ]
    done = [{"subject": each.subject, "did": each.did} for each in (recovery.outcomes if recovery else ())]
    return {
        "stack": name,
        "findings": found,
        "changed": recovery is not None,
        "done": done,
        "problems": [problem.to_json() for problem in problems],
    }
