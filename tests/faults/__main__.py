"""``make faults``: kill, recover, compare; print the table, and end with 1 unless every kill was survived."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import SystemRandom
from typing import Annotated

import typer

from beamline import sandbox
from beamline.cli.endings import Ending, Verbs
from beamline.cli.output import said, show, table, tell
from bench.made_with import made_with
from stacks.problems import ProblemsFound, to_text
from tests.faults.page import COLUMNS, Run, cells, page, summary
from tests.faults.rounds import Survived, survived
from tests.faults.schedule import Kill, schedule
from tests.faults.stack import Stack, opened

_NAME = "faults"
STACKS = (("small-l4", 2 / 3), ("g4-dynamo", 1.0))
"""Stacks, and up to which share of the kills each is used; the second brings operators as Helm releases."""

app = typer.Typer(cls=Verbs, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def faults(
    kills: Annotated[int, typer.Option(min=1, help="How many kills.")] = 20,
    seed: Annotated[int | None, typer.Option(help="What decides; default: another one each time.")] = None,
    first: Annotated[int, typer.Option(min=1, help="Leave out the kills before this one.")] = 1,
    to_page: Annotated[Path | None, typer.Option("--page", metavar="FILE", help="Also write the table there.")] = None,
) -> None:
    """Kill engine, providers and language host inside operations, and see what becomes of the stack."""
    chosen = SystemRandom().randrange(10**6) if seed is None else seed
    made = made_with()
    tell(f"faults: seed {chosen}")
    results, left = _all(kills, chosen, first)
    part = f" FIRST={first}" if first > 1 else ""
    command = f"make faults SEED={chosen} KILLS={kills}{part} PAGE=docs/faults.md"
    run = Run(command, made, chosen, results, left)
    show(
        table(COLUMNS, [cells(result) for result in results], long=COLUMNS[3:6]),
        said(f"\nseed {chosen}: {summary(run)}"),
    )
    for text in run.left:
        tell(text)
    if to_page:
        to_page.write_text(page(run), encoding="utf-8")
    raise typer.Exit(Ending.FINE if run.all_well else Ending.PROBLEMS)


def _all(count: int, seed: int, first: int) -> tuple[list[Survived], list[str]]:
    """Run the kills, and return with them what was left when the stacks were taken down.

    Each preset gets its share, in a sandbox of its own; after a kill that was not survived, the next gets a fresh one.
    """
    planned, done = schedule(seed, count), 0
    results: list[Survived] = []
    left: list[str] = []
    with tempfile.TemporaryDirectory(prefix="beamline-faults-") as folder:
        os.environ["BEAMLINE_HOME"] = folder
        for preset, share in STACKS:
            until = round(count * share)
            kills = [kill for kill in planned[done:until] if kill.number >= first]
            try:
                for result in _in_turn(preset, Path(folder), kills):
                    results.append(result)
                    _tell(result)
                sandbox.down(_NAME)
            except ProblemsFound as found:
                left.append(f"{preset}: {to_text(found.problems)}")
            finally:
                sandbox.down(_NAME, force=True)
            done = until
    return results, left


def _in_turn(preset: str, folder: Path, kills: Sequence[Kill]) -> Iterator[Survived]:
    stack: Stack | None = None
    for kill in kills:
        stack = stack or opened(_NAME, preset, folder)
        yield (result := survived(stack, kill, lambda text: tell(f"faults: {text}")))
        if not result.is_well:
            sandbox.down(_NAME, force=True)
            stack = None


def _tell(result: Survived) -> None:
    again, orphans, doubles = cells(result)[-3:]
    tell(f"faults: kill {result.kill.number} {again}; orphans: {orphans}; doubles: {doubles}")
    if result.said:
        tell(result.said)


if __name__ == "__main__":
    sys.exit(app())
