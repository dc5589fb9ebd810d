"""How a verb ends: one exit code for each kind of ending, and never a traceback for what a user can correct."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from beamline.cli.output import ReaderGoneError, said, show, show_json, tell
from stacks.problems import EnvironmentProblem, Problem, ProblemsFound, has_errors, to_text

__all__ = ["Ending", "Verbs", "end_with", "problems_as_result", "show_problems"]


class Ending(IntEnum):
    """Exit codes. 2, wrong usage, is given by the argument parser."""

    FINE = 0
    PROBLEMS = 1
    USAGE = 2
    ENVIRONMENT = 3
    INTERRUPTED = 130
    READER_GONE = 141
    """As a shell reports it of any program in a pipeline: 128 and the number of SIGPIPE."""


class Verbs(TyperGroup):
    """A group of verbs in which trouble with the machine and interruptions end the same way everywhere."""

    def invoke(self, ctx: Any) -> Any:
        """Run the verb."""
        try:
            return super().invoke(ctx)
        except EnvironmentProblem as trouble:
            tell(str(trouble))
            raise typer.Exit(Ending.ENVIRONMENT) from trouble
        except KeyboardInterrupt as stop:
            tell("interrupted")
            raise typer.Exit(Ending.INTERRUPTED) from stop
        except ReaderGoneError as gone:
            raise typer.Exit(Ending.READER_GONE) from gone


def end_with(problems: Iterable[Problem]) -> NoReturn:
    """End the verb: with 1 when any problem is an error."""
    raise typer.Exit(Ending.PROBLEMS if has_errors(problems) else Ending.FINE)


@contextmanager
def problems_as_result(*, as_json: bool) -> Iterator[None]:
    """Let problems that stop a verb be its result."""
    try:
        yield
    except ProblemsFound as found:
        show_problems(found.problems, as_json=as_json)
        raise typer.Exit(Ending.PROBLEMS) from found


def show_problems(problems: Sequence[Problem], *, as_json: bool) -> None:
    """Write problems as a result of their own."""
    if as_json:
        show_json({"problems": [problem.to_json() for problem in problems]})
    else:
        show(said(to_text(problems)))
