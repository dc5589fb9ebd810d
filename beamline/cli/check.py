"""`beamline check`: everything that can be judged without a cloud, for people, CI and hooks before a commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from beamline.check_formats import Verdict, beside, gone, read_baseline, to_annotations, to_junit, to_sarif
from beamline.cli.completion import stack_names
from beamline.cli.endings import end_with, problems_as_result
from beamline.cli.output import counting, said, show, show_as_it_is, show_json, tell
from beamline.cli.parameters import JsonOption, StacksArgument
from beamline.cli.planning import plan_stack
from beamline.cli.selection import Selection, select, stack_name
from beamline.cli.stack_text import counted
from stacks import ProblemsFound, ordered, to_text
from stacks.settings import STACKS_DIR, stack_file
from stacks.wording import some

__all__ = ["check"]


class Format(StrEnum):
    """How the result is written."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"
    GITHUB = "github"


FormatOption = Annotated[
    Format,
    typer.Option(
        "--format",
        help="For people (text), programs (json), code scanning (sarif), test reports (junit) or as annotations of a "
        "pull request (github).",
    ),
]


BaselineOption = Annotated[
    Path | None,
    typer.Option(
        "--baseline",
        metavar="FILE",
        help="What `check --format json` wrote another day: what is in it is known, and only the rest counts.",
    ),
]


def check(
    stacks: StacksArgument = None,
    written: FormatOption = Format.TEXT,
    as_json: JsonOption = False,
    baseline: BaselineOption = None,
) -> None:
    """Check stacks as far as no cloud is needed.

    Types, resource graph, input types of Pulumi's SDKs, schemas of Kubernetes and custom resources, graph rules.
    """
    names = stacks or stack_names()
    with problems_as_result(as_json=as_json or written is Format.JSON):
        before = read_baseline(baseline) if baseline else {}
    with counting("checking", len(names)) as progress:
        verdicts = [_checked(name, progress) for name in names]
    if fewer := sum(gone(verdict, before) for verdict in verdicts):
        tell(f"{some(fewer, 'problem')} of the baseline {'is' if fewer == 1 else 'are'} gone: write it anew")
    verdicts = [beside(verdict, before) for verdict in verdicts]
    _WRITERS[Format.JSON if as_json else written](verdicts)
    end_with(problem for verdict in verdicts for problem in verdict.problems)


def _checked(asked: str, progress: Progress) -> Verdict:
    verdict = _verdict(asked)
    progress.advance(progress.task_ids[0])
    return verdict


def _verdict(asked: str) -> Verdict:
    try:
        selection = select(asked)
    except ProblemsFound as found:
        return Verdict(stack_name(asked), None, stack_file(stack_name(asked)), tuple(found.problems))
    planned = plan_stack(selection)
    problems = list(planned.problems)
    if planned.spec is not None and planned.graph is not None:
        # The SDKs behind it take a second to import; a stack with mistakes is answered without.
        from beamline.checks import graph_problems  # noqa: PLC0415

        problems += graph_problems(planned.graph, planned.spec.preset.cluster.version)
    return Verdict(selection.name, selection.preset, _edited(selection), tuple(ordered(problems)))


def _edited(selection: Selection) -> Path:
    """The file that its user edits: a preset's own, where no stack file names it."""
    return selection.file or STACKS_DIR / "presets" / f"{selection.preset}.yaml"


def _show_text(verdicts: Sequence[Verdict]) -> None:
    for verdict in verdicts:
        known = f" ({len(verdict.known)} more in the baseline)" if verdict.known else ""
        show(said(f"{verdict.title}: {counted(verdict.problems)}{known}"))
        if verdict.problems:
            show(said(to_text(verdict.problems)))


def _show_json(verdicts: Sequence[Verdict]) -> None:
    show_json({"stacks": [_to_json(verdict) for verdict in verdicts]})


def _to_json(verdict: Verdict) -> dict[str, object]:
    return {
        "stack": verdict.stack,
        "preset": verdict.preset,
        "problems": [problem.to_json() for problem in verdict.problems],
        **({"known": [problem.to_json() for problem in verdict.known]} if verdict.known else {}),
    }


_WRITERS: dict[Format, Callable[[Sequence[Verdict]], None]] = {
    Format.TEXT: _show_text,
    Format.JSON: _show_json,
    Format.SARIF: lambda verdicts: show_as_it_is(to_sarif(verdicts)),
    Format.JUNIT: lambda verdicts: show_as_it_is(to_junit(verdicts)),
    Format.GITHUB: lambda verdicts: show_as_it_is(to_annotations(verdicts)),
}
