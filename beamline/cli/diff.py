"""`beamline plan --diff`: what two stacks mean, derive and create otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

from beamline.cli.changes import Change
from beamline.cli.diff_text import folded, lines_of, word
from beamline.cli.diffing import Side, compare_sides, plan_sides
from beamline.cli.endings import end_with
from beamline.cli.output import said, show, show_json, working
from beamline.cli.stack_text import amount, counted
from beamline.comparison import Comparison, Difference, Opaque, Path, ResourceChange, written
from stacks import Problem, to_text
from stacks.wording import some

__all__ = ["comparison_text", "show_difference"]

_INDENT = "  "
_SCOPES = ("containers", "initContainers", "components")
"""Lists whose elements are told in a block of their own."""


def show_difference(old: str, new: str, changes: Sequence[Change], *, as_json: bool) -> NoReturn:
    """Compare two stacks or presets and end: with 0 whether or not they differ, with 1 if either has errors."""
    with working(f"comparing {old} and {new}"):
        sides = plan_sides(old, new, changes)
        comparison = compare_sides(*sides)
    if as_json:
        show_json(_document(*sides, comparison))
    else:
        show(said(comparison_text(*sides, comparison).removesuffix("\n")))
    end_with([problem for side in sides for problem in side.problems])


def comparison_text(old: Side, new: Side, comparison: Comparison | None) -> str:
    """Return what ``plan --diff`` says of two sides, as one text that is the same in every run."""
    head = f"{old.asked} -> {new.asked}"
    if comparison is None:
        lines = [f"{head}: not compared"]
        for side in (old, new):
            if not side.is_sound:
                errors = [problem for problem in side.problems if problem.severity == "error"]
                lines += ["", f"{side.asked}: {counted(errors)}", "", to_text(errors)]
        return "\n".join(lines) + "\n"
    sections = (
        ("stack settings", _differences(comparison.settings)),
        ("preset", _differences(comparison.preset)),
        ("problems", _problems(old, new)),
        ("evidence", _features(comparison)),
        ("derived numbers", _numbers(comparison)),
        (_counted("Kubernetes objects", comparison, kubernetes=True), _resources(comparison, kubernetes=True)),
        (_counted("cloud resources", comparison, kubernetes=False), _resources(comparison, kubernetes=False)),
    )
    lines = [f"{head}: {_in_short(comparison)}", *_descriptions(old, new)]
    for title, body in sections:
        told = list(body)
        lines += ["", title, *told] if told else []
    return "\n".join(lines) + "\n"


def _in_short(comparison: Comparison) -> str:
    if comparison.is_empty:
        return f"nothing differs; {some(comparison.same, 'resource')} the same"
    changes = comparison.resources
    added, removed = (sum(1 for c in changes if c.change == kind) for kind in ("added", "removed"))
    changed = len(changes) - added - removed
    return f"{some(added, 'resource')} added, {removed} removed, {changed} changed; {comparison.same} the same"


def _descriptions(old: Side, new: Side) -> Iterator[str]:
    before, after = (side.plan.spec.preset.description if side.plan and side.plan.spec else "" for side in (old, new))
    if before != after:
        yield from folded(f"- {before}", _INDENT)
        yield from folded(f"+ {after}", _INDENT)


def _differences(found: Iterable[Difference]) -> Iterator[str]:
    for difference in found:
        yield from lines_of(difference, _INDENT)


def _problems(old: Side, new: Side) -> Iterator[str]:
    """Warnings and notes that only one side has: a rule and a place, as ``plan`` tells the rest."""
    before, after = ({_of(problem): problem for problem in side.problems} for side in (old, new))
    for sign, these, others in (("-", before, after), ("+", after, before)):
        for key, problem in these.items():
            if key not in others:
                yield from folded(f"{sign} {problem.severity}[{problem.rule}] {problem.path} = {word(key[2])}", _INDENT)


def _of(problem: Problem) -> tuple[str, str, str]:
    return problem.rule, problem.path, str(problem.to_json()["value"])


def _features(comparison: Comparison) -> Iterator[str]:
    for change in comparison.features:
        if change.old is None or change.new is None:
            yield f"{_INDENT}{'+' if change.old is None else '-'} {change.feature}: {change.new or change.old}"
        else:
            yield f"{_INDENT}~ {change.feature}: {change.old} -> {change.new}"


def _numbers(comparison: Comparison) -> Iterator[str]:
    for number in comparison.numbers:
        old, new = (amount(value, number.unit) for value in (number.old, number.new))
        yield f"{_INDENT}~ {number.name}: {old} -> {new} {number.unit}"


def _counted(title: str, comparison: Comparison, *, kubernetes: bool) -> str:
    changes = [change for change in comparison.resources if change.is_kubernetes == kubernetes]
    counts = [
        (kind, sum(1 for c in changes if c.change == kind)) for kind in ("added", "removed", "changed", "replaced")
    ]
    return f"{title}: {', '.join(f'{count} {kind}' for kind, count in counts if count)}"


def _resources(comparison: Comparison, *, kubernetes: bool) -> Iterator[str]:
    for change in comparison.resources:
        if change.is_kubernetes == kubernetes:
            sign = {"added": "+", "removed": "-"}.get(change.change, "~")
            name = change.name if change.name == change.old_name else f"{change.old_name} -> {change.name}"
            yield f"{_INDENT}{sign} {change.kind} {name}"
            yield from _blocks(change.differences, _INDENT * 3)


def _blocks(found: Sequence[Difference], indent: str, *, below: int = 0) -> Iterator[str]:
    """Yield differences; what is in a container or a component stands below its name, the rest before it."""
    scopes: dict[Path, list[Difference]] = {}
    for difference in found:
        scope = _scope(difference, below)
        if scope:
            scopes.setdefault(scope, []).append(difference)
        else:
            yield from lines_of(difference, indent, below=below)
    for scope, inside in scopes.items():
        head, rest = (inside[0], inside[1:]) if inside[0].path == scope else (None, inside)
        if head is not None and head.change != "replaced":
            yield from lines_of(head, indent, below=below)  # there is nothing else to say of it
            continue
        yield f"{indent}{'~ ' if head else ''}{written(scope[below:])}"
        yield from _blocks(rest, indent + _INDENT, below=len(scope))


def _scope(difference: Difference, below: int) -> Path:
    """Return the path of the first container or component on the way to a difference, from ``below`` on."""
    path = difference.path
    for index in range(below, len(path) - 1):
        if path[index] in _SCOPES and path[index + 1].startswith("["):
            return path[: index + 2]
    return ()


def _document(old: Side, new: Side, comparison: Comparison | None) -> dict[str, Any]:
    return {
        "old": _side(old),
        "new": _side(new),
        "compared": comparison is not None,
        "settings": [_json(d) for d in comparison.settings] if comparison else [],
        "preset": [_json(d) for d in comparison.preset] if comparison else [],
        "evidence": [
            {"feature": change.feature, "old": change.old, "new": change.new}
            for change in (comparison.features if comparison else ())
        ],
        "derived": [
            {"name": number.name, "unit": number.unit, "old": number.old, "new": number.new}
            for number in (comparison.numbers if comparison else ())
        ],
        "resources": [_resource(change) for change in (comparison.resources if comparison else ())],
        "same": comparison.same if comparison else 0,
    }


def _side(side: Side) -> dict[str, Any]:
    return {
        "stack": side.asked,
        "preset": side.plan.selection.preset if side.plan else None,
        "problems": [problem.to_json() for problem in side.problems],
    }


def _resource(change: ResourceChange) -> dict[str, Any]:
    return {
        "type": change.type,
        "kind": change.kind,
        "name": change.name,
        "old_name": change.old_name,
        "change": change.change,
        "differences": [_json(difference) for difference in change.differences],
    }


def _json(difference: Difference) -> dict[str, Any]:
    return {
        "path": written(difference.path),
        "change": difference.change,
        "old": _plain(difference.old),
        "new": _plain(difference.new),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Opaque):
        return {f"${value.word}": True}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
