"""Where text goes: results to stdout, progress to stderr.

On a terminal, results are as wide as the terminal and fold. Into a pipe or a file they are as wide as they are: nothing
is cut, nothing depends on the machine, and lines do not end in blanks.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TextIO

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from stacks.problems import EnvironmentProblem

__all__ = [
    "ReaderGoneError",
    "counting",
    "heading",
    "pairs",
    "said",
    "show",
    "show_as_it_is",
    "show_json",
    "table",
    "tell",
    "working",
]

_UNBOUNDED = 100_000
"""Columns of a console that must never wrap."""
_GAP = 2
"""Blanks between the columns of a table."""
_LEAST_OF_LONG = 16
"""Characters a folding column keeps at least before the other columns fold, too."""


class ReaderGoneError(Exception):
    """Whoever read the result has read enough, as in ``beamline plan g4 | head -1``."""


def show(*parts: RenderableType) -> None:
    """Write a result for people."""
    with _writing() as stdout:
        if stdout.isatty():
            Console(file=stdout).print(*parts, sep="\n", highlight=False)
            return
        text = io.StringIO()
        console = Console(file=text, width=_UNBOUNDED, color_system=None, force_terminal=False, legacy_windows=False)
        console.print(*parts, sep="\n", highlight=False)
        stdout.write("".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines()))


def show_json(data: Any) -> None:
    """Write a result for programs: one JSON document, keys in their own order."""
    with _writing() as stdout:
        is_utf8 = stdout.encoding.lower() in ("utf-8", "utf8")
        stdout.write(json.dumps(data, indent=2, ensure_ascii=not is_utf8, default=str) + "\n")


def show_as_it_is(text: str) -> None:
    """Write a result for another program; what its encoding has no character for is written as an escape."""
    with _writing() as stdout:
        stdout.write(text.encode(stdout.encoding, "backslashreplace").decode(stdout.encoding))


@contextmanager
def _writing() -> Iterator[TextIO]:
    """Give stdout, and say what is wrong with it when it takes no more; a reader that went away is not wrong."""
    if sys.stdout is None:
        raise EnvironmentProblem("the result cannot be written: stdout is closed")
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError as error:
        _forget(sys.stdout)
        raise ReaderGoneError from error
    except OSError as error:
        _forget(sys.stdout)
        raise EnvironmentProblem(f"the result cannot be written: {error.strerror}") from error


def _forget(stream: TextIO) -> None:
    """Let what a stream still holds go nowhere, or Python complains about it at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def said(text: str) -> Text:
    """Return text of others as it is: its brackets are not markup."""
    return Text(text, overflow="fold")


def heading(text: str) -> Text:
    """Return the line above a section."""
    return Text(f"\n{text}", style="bold")


@dataclass(frozen=True)
class _Listing:
    """A table whose long columns fold, and its others only where the terminal is too narrow even then."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[str]
    long: Sequence[str]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        made = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")
        is_roomy = self._least_width() <= options.max_width
        for name in self.columns:
            made.add_column(
                name,
                overflow="fold",
                no_wrap=is_roomy and name not in self.long,
                justify="right" if name in self.right else "left",
            )
        for row in self.rows:
            made.add_row(*(said(cell) for cell in row))
        yield made

    def _least_width(self) -> int:
        width = 0
        for index, name in enumerate(self.columns):
            cells = [cell_len(text) for text in (name, *(row[index] for row in self.rows))]
            width += _GAP + (min(max(cells), _LEAST_OF_LONG) if name in self.long else max(cells))
        return width


def table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = (), long: Sequence[str] = ()
) -> _Listing:
    """Return a table of plain cells; columns in ``right`` hold numbers, those in ``long`` (default: the last) fold."""
    return _Listing(columns, rows, right, long or columns[-1:])


def pairs(rows: Sequence[tuple[str, str]]) -> Table:
    """Return labels with their values, one a line."""
    made = Table.grid(padding=(0, 2, 0, 0))
    made.add_column(no_wrap=True)
    made.add_column(overflow="fold")
    for label, value in rows:
        made.add_row(said(label), said(value))
    return made


def tell(text: str) -> None:
    """Write one line of progress, or of trouble with the machine; never fails, as it is not the result."""
    if sys.stderr is None:
        return
    try:
        Console(file=sys.stderr, soft_wrap=True).print(said(text), highlight=False)
        sys.stderr.flush()
    except OSError:
        _forget(sys.stderr)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show a spinner while something takes its time; a stderr that is no terminal stays quiet."""
    console = Console(file=sys.stderr)
    if not console.is_terminal:
        yield
        return
    with console.status(said(what)):
        yield


@contextmanager
def counting(what: str, total: int) -> Iterator[Progress]:
    """Show a bar over ``total`` steps; advance it with ``progress.advance(progress.task_ids[0])``."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console(file=sys.stderr)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        progress.add_task(what, total=total)
        yield progress
