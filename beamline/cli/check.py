"""`beamline check`: everything that can be judged without a cloud, for people, CI and hooks before a commit."""

from __future__ import annotations

from dataclasses import dataclass

from rich.progress import Progress

from beamline.cli.completion import stack_names
from beamline.cli.endings import end_with
from beamline.cli.output import counting, said, show, show_json
from beamline.cli.parameters import JsonOption, StacksArgument
from beamline.cli.planning import plan_stack
from beamline.cli.selection import select
from beamline.cli.stack_text import counted
from stacks import Problem, ProblemsFound, ordered, to_text

__all__ = ["check"]


@dataclass(frozen=True)
class _Verdict:
    """What was found in one stack."""

    stack: str
    preset: str | None
    problems: list[Problem]


def check(stacks: StacksArgument = None, as_json: JsonOption = False) -> None:
    """Check stacks as far as no cloud is needed.

    Types, resource graph, input types of Pulumi's SDKs, schemas of Kubernetes and custom resources, graph rules.
    """
    names = stacks or stack_names()
    with counting("checking", len(names)) as progress:
        verdicts = [_checked(name, progress) for name in names]
    if as_json:
        show_json({"stacks": [_to_json(verdict) for verdict in verdicts]})
    else:
        for verdict in verdicts:
            show(said(f"{verdict.stack}: {counted(verdict.problems)}"))
            if verdict.problems:
                show(said(to_text(verdict.problems)))
    end_with(problem for verdict in verdicts for problem in verdict.problems)


def _checked(asked: str, progress: Progress) -> _Verdict:
    verdict = _verdict(asked)
    progress.advance(progress.task_ids[0])
    return verdict


def _verdict(asked: str) -> _Verdict:
    try:
        selection = select(asked)
    except ProblemsFound as found:
        return _Verdict(asked, None, list(found.problems))
    planned = plan_stack(selection)
    problems = list(planned.problems)
    if planned.spec is not None and planned.graph is not None:
        # The SDKs behind it take a second to import; a stack with mistakes is answered without.
        from beamline.checks import graph_problems  # noqa: PLC0415

        problems += graph_problems(planned.graph, planned.spec.preset.cluster.version)
    return _Verdict(selection.name, selection.preset, ordered(problems))


def _to_json(verdict: _Verdict) -> dict[str, object]:
    return {
        "stack": verdict.stack,
        "preset": verdict.preset,
        "problems": [problem.to_json() for problem in verdict.problems],
    }
