"""``--set key=value``: one value of a stack, changed for one run.

A key that is a setting (``project``, ``zone``) changes the setting; any other key is a path into the preset and lands
in ``overrides``, where the same checks wait for it as for a stack file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import typer

from stacks.problems import Problem
from stacks.settings import NAMESPACE, Settings
from stacks.spec import Preset
from stacks.typing_problems import nearest
from stacks.yaml_files import read_value

__all__ = ["Change", "apply", "parse_change"]


@dataclass(frozen=True)
class Change:
    """One assignment: dotted path as typed, and the value as a stack file would hold it."""

    path: str
    value: Any

    def caused(self, problem: Problem) -> bool:
        """Tell whether a problem is about this value, or about a section that only this assignment named."""
        own = self.path.removeprefix("overrides.")
        path = problem.path.removeprefix(f"{NAMESPACE}:").removeprefix("overrides.")
        names_it = problem.rule == "unknown-key" and own.startswith(f"{path}.")
        return path == own or path.startswith((f"{own}.", f"{own}[")) or names_it


def parse_change(text: str) -> Change:
    """Read ``key=value``; anything else is wrong usage."""
    path, equals, value = text.partition("=")
    if not equals or not all(path.split(".")):
        raise typer.BadParameter(f"{text!r} is not of the form key=value, such as serving.shape.replicas=2")
    try:
        return Change(path, read_value(value))
    except ValueError as error:
        raise typer.BadParameter(f"the value of {path} cannot be read: {error}") from error


def apply(change: Change, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``config``, a stack file's section, with the change in it."""
    path = change.path.split(".")
    if not _is_setting(path[0]):
        path = ["overrides", *path]
    return _with({**config}, [f"{NAMESPACE}:{path[0]}", *path[1:]], change.value)


def _is_setting(first: str) -> bool:
    """Tell settings from sections of the preset; a misspelt word belongs where the nearest known one does."""
    if first in Settings.model_fields or first in Preset.model_fields:
        return first in Settings.model_fields
    return nearest(first, [*Settings.model_fields, *Preset.model_fields]) in Settings.model_fields


def _with(data: dict[str, Any], path: list[str], value: Any) -> dict[str, Any]:
    if len(path) == 1:
        return {**data, path[0]: value}
    inner = data.get(path[0])
    return {**data, path[0]: _with(dict(inner) if isinstance(inner, Mapping) else {}, path[1:], value)}
