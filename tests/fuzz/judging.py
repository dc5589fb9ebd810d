"""What must be true of every answer, whatever was written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import kubernetes_validate

from beamline.checks.kubernetes_schemas import schema_problems
from manifests import render
from policies.objects import RegisteredObject
from stacks import Problem, ProblemsFound, StackSpec, to_text
from stacks.problems import EnvironmentProblem
from stacks.typing_problems import dotted
from stacks.versions import minor
from tests.failures.test_failures import JARGON
from tests.fuzz.keys import Path, paths, unknown_keys

__all__ = ["Answer", "answer_of", "changed_silently", "complaints", "is_sound", "refused_objects", "unreported"]

Answer = StackSpec | ProblemsFound
NOT_READ = ("yaml", "encrypted-setting", "stack-file", "key-twice", "extends-loop")
"""Problems after which nothing more can be said about a file's keys."""


def answer_of(resolved: Callable[[], StackSpec]) -> Answer:
    """Return what the kit answers; anything but problems is a traceback and goes up."""
    try:
        return resolved()
    except ProblemsFound as found:
        return found


def complaints(problems: Sequence[Problem]) -> list[str]:
    """Say which problems do not help: no reason, no way out, no place, words of a library, what no terminal shows."""
    found = []
    for p in problems:
        said = f"{p.why} {p.remedy} {p.allowed}"
        if not (p.rule and p.path and p.why and (p.allowed or p.remedy) and p.where):
            found.append(f"incomplete: {p}")
        found += [f"{word!r} in {p}" for word in JARGON if word in said.lower()]
        json.dumps(p.to_json(), allow_nan=False)
    shown = to_text(problems)
    found += [f"unprintable: {line!r}" for line in shown.split("\n") if not line.isprintable()]
    return found


def unreported(data: Any, base: Mapping[str, Any], problems: Iterable[Problem]) -> list[Path]:
    """Return the keys of ``data`` that the schemas do not have and no problem names."""
    known = {p.path for p in problems if p.rule in ("unknown-key", "not-overridable")}
    return [path for path in unknown_keys(data, base) if dotted(path) not in known]


def changed_silently(data: Mapping[str, Any], spec: StackSpec) -> list[str]:
    """Return what was asked for and is not what the stack would run with."""
    planned = spec.preset.model_dump()
    changed = []
    for path in paths(data):
        asked, found = _at(data, path), _at(planned, path)
        if isinstance(asked, Mapping):
            continue
        if asked != found or isinstance(asked, bool) != isinstance(found, bool):
            changed.append(f"{dotted(path)}: asked {asked!r}, planned {found!r}")
    return changed


def _at(data: Any, path: Path) -> Any:
    for key in path:
        data = data[key] if isinstance(data, Mapping) and key in data else "(nothing)"
    return data


def refused_objects(spec: StackSpec) -> list[Problem]:
    """Return what the schemas of Kubernetes and of the custom resources refuse in the stack's objects.

    A version nobody has schemas of yet is judged by those of the newest: ``check`` says then that it cannot judge.
    """
    objects = [RegisteredObject(f"{o.area}/{o.name}", "", o.body) for o in render(spec)]
    try:
        return schema_problems(objects, minor(spec.preset.cluster.version))
    except EnvironmentProblem as no_schemas:
        if "no schemas of Kubernetes" not in str(no_schemas):
            raise
        return schema_problems(objects, minor(kubernetes_validate.latest_version()))


def is_sound(answer: Answer, data: Any, base: Mapping[str, Any]) -> None:
    """Fail on any answer that surprises: ``data`` was laid over ``base``."""
    assert complaints(answer.problems) == []
    if isinstance(answer, ProblemsFound):
        assert any(p.severity == "error" for p in answer.problems)
        if not any(p.rule in NOT_READ for p in answer.problems):
            assert unreported(data, base, answer.problems) == []
        return
    assert not any(p.severity == "error" for p in answer.problems)
    assert list(unknown_keys(data, base)) == []
    assert changed_silently(data or {}, answer) == []
    assert refused_objects(answer) == []
