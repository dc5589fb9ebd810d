"""``make faults``: kill, recover, compare; print the table, and end with 1 unless every kill was survived."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from random import SystemRandom
from typing import Annotated

import typer

from beamline import sandbox
from beamline.cli.endings import Ending, Verbs, problems_as_result
from beamline.cli.output import said, show, table, tell
from bench.made_with import made_with
from tests.faults.page import COLUMNS, Run, cells, page, summary
from tests.faults.rounds import Survived, survive
from tests.faults.schedule import schedule
from tests.faults.stack import opened

_NAME = "faults"
_MOST = (("small-l4", 2 / 3), ("g4-dynamo", 1.0))
"""Stacks, and up to which share of the kills each is used; the second brings operators as Helm releases."""

app = typer.Typer(cls=Verbs, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def faults(
    kills: Annotated[int, typer.Option(min=1, help="How many kills.")] = 20,
    seed: Annotated[int | None, typer.Option(help="What decides; default: another one each time.")] = None,
    to_page: Annotated[Path | None, typer.Option("--page", metavar="FILE", help="Also write the table there.")] = None,
) -> None:
    """Kill engine, providers and language host inside operations, and see what becomes of the stack."""
    chosen = SystemRandom().randrange(10**6) if seed is None else seed
    made = made_with()
    tell(f"faults: seed {chosen}")
    with problems_as_result(as_json=False):
        results = _survived(kills, chosen)
    command = f"make faults SEED={chosen} KILLS={kills} PAGE=docs/faults.md"
    run = Run(command, made, chosen, results)
    show(
        table(COLUMNS, [cells(result) for result in results], long=COLUMNS[3:6]),
        said(f"\nseed {chosen}: {summary(run)}"),
    )
    for result in results:
        if result.said:
            tell(f"kill {result.kill.number}: {result.said}")
    if to_page:
        to_page.write_text(page(run), encoding="utf-8")
    raise typer.Exit(Ending.FINE if run.all_well else Ending.PROBLEMS)


def _survived(count: int, seed: int) -> list[Survived]:
    """Run every kill; each stack gets its share, in a sandbox of its own that is proven empty at the end."""
    planned, done = schedule(seed, count), 0
    results: list[Survived] = []
    with tempfile.TemporaryDirectory(prefix="beamline-faults-") as folder:
        os.environ["BEAMLINE_HOME"] = folder
        for preset, share in _MOST:
            until = round(count * share)
            if until == done:
                continue
            try:
                stack = opened(_NAME, preset, Path(folder))
                for result in survive(stack, planned[done:until], lambda text: tell(f"faults: {text}")):
                    again, orphans, doubles = cells(result)[-3:]
                    tell(f"faults: kill {result.kill.number} {again}: {orphans} orphans, {doubles} doubles")
                    results.append(result)
                done = until
                sandbox.down(_NAME)
            finally:
                sandbox.down(_NAME, force=True)
    return results


if __name__ == "__main__":
    sys.exit(app())
