"""``make bench``: measure, print the table, and end with 1 when a threshold is broken.

Everything it makes is in temporary folders and gone afterwards; only ``--page`` writes a file.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from beamline.cli.completion import stack_names
from beamline.cli.endings import Ending, Verbs, problems_as_result
from beamline.cli.output import show, table, tell
from beamline.cli.selection import Selection, select
from beamline.sandbox import print_progress
from bench.applied import applied
from bench.applying import applying
from bench.made_with import made_with
from bench.page import COLUMNS, RIGHT, Run, cells, page
from bench.planning import largest_stack, planning, resource_count
from bench.rows import Row, any_broken

app = typer.Typer(cls=Verbs, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def bench(
    stack: Annotated[
        str | None, typer.Option(metavar="STACK", help="A stack file by name or path; default: the largest stack.")
    ] = None,
    pairs: Annotated[int, typer.Option(min=1, help="Counted pairs of runs of each comparison.")] = 5,
    to_page: Annotated[Path | None, typer.Option("--page", metavar="FILE", help="Also write the table there.")] = None,
) -> None:
    """Measure the kit's speed as ratios of things that run in turn."""
    with problems_as_result(as_json=False):
        selection = select(stack or largest_stack(stack_names()))
        run = _measured(selection, stack, pairs)
    show(table(COLUMNS, [cells(row) for row in run.rows], right=RIGHT, long=("what",)))
    if to_page:
        to_page.write_text(page(run), encoding="utf-8")
    raise typer.Exit(Ending.PROBLEMS if any_broken(run.rows) else Ending.FINE)


def _measured(selection: Selection, asked: str | None, pairs: int) -> Run:
    if selection.file is None:
        raise typer.BadParameter(f"{selection.name} is a preset; name a stack file", param_hint="--stack")
    made = made_with()  # before anything runs
    stack = asked or selection.name
    rows = [_told(row) for row in planning(stack, pairs)]
    with applied(selection.name, selection.file, print_progress(Console(stderr=True))) as there:
        rows += [_told(row) for row in applying(there, stack, pairs)]
    # make's STACK has a default of its own, so the command names the stack.
    command = f"make bench STACK={stack} PAIRS={pairs} PAGE=docs/speed.md"
    return Run(selection.name, resource_count(stack), command, made, rows)


def _told(row: Row) -> Row:
    tell(f"bench: {', '.join(cells(row))}")
    return row


if __name__ == "__main__":
    sys.exit(app())
