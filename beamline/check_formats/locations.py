"""Where in a file a problem stands, so that CI can show it beside the line that a user would change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import yaml

from beamline.check_formats.verdicts import Verdict
from stacks.problems import Problem
from stacks.settings import NAMESPACE, STACKS_DIR

__all__ = ["Location", "location"]

_CHECKOUT = STACKS_DIR.parent
_STEP = re.compile(r"[^.\[\]]+")


@dataclass(frozen=True)
class Location:
    """A line of a file, both from 1. ``uri`` is relative to the checkout, or absolute outside of it."""

    uri: str
    line: int
    column: int


def location(verdict: Verdict, problem: Problem) -> Location:
    """Return the line of the file that the problem names, or of the stack's own file.

    The line is that of the longest part of the problem's path that the file has. What is found in a resource, and not
    in a value, stands where the stack file names its preset.
    """
    file = _named(problem) or verdict.file
    line, column = _position(file, _steps(file, problem))
    return Location(_uri(file), line, column)


def _named(problem: Problem) -> Path | None:
    file = _CHECKOUT / problem.where
    return file if problem.where.endswith(".yaml") and file.is_file() else None


def _uri(file: Path) -> str:
    file = file.resolve()
    return file.relative_to(_CHECKOUT).as_posix() if file.is_relative_to(_CHECKOUT) else file.as_uri()


def _steps(file: Path, problem: Problem) -> list[tuple[str, ...]]:
    """Places to look at, the likeliest first: a key of the preset stands below ``overrides`` in a stack file."""
    path = tuple(_STEP.findall(problem.path))
    if not file.name.startswith("Pulumi."):
        return [path, ("extends",)]
    own = f"{NAMESPACE}:"
    setting = path[0].removeprefix(own).removeprefix("overrides") if path else ""
    rest = path[1:] if path and path[0].removeprefix(own) == "overrides" else path
    return [
        path or ("config",),
        ("config", f"{own}overrides", *rest),
        ("config", f"{own}{setting}", *path[1:]),
        ("config", *path),
        ("config", f"{own}preset"),
    ]


def _position(file: Path, places: Sequence[tuple[str, ...]]) -> tuple[int, int]:
    """Return line and column of the first place of which more than its section is there."""
    root = _read(file)
    for place in places:
        found = list(_walk(root, place))
        sections = 2 if place[0] == "config" else 0
        if len(found) > sections or (len(found) == len(place) and found):
            mark = found[-1].start_mark
            return mark.line + 1, mark.column + 1
    return 1, 1


@lru_cache(maxsize=64)
def _read(file: Path) -> yaml.Node | None:
    try:
        return yaml.compose(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    except (OSError, ValueError, yaml.YAMLError):
        return None


def _walk(node: yaml.Node | None, place: Sequence[str]) -> Iterator[yaml.Node]:
    """Yield the nodes of the keys along ``place``, as far as they are there."""
    for step in place:
        if isinstance(node, yaml.MappingNode):
            pair = next((pair for pair in node.value if pair[0].value == step), None)
        elif isinstance(node, yaml.SequenceNode) and step.isdigit() and int(step) < len(node.value):
            pair = (node.value[int(step)], node.value[int(step)])
        else:
            pair = None
        if pair is None:
            return
        yield pair[0]
        node = pair[1]
