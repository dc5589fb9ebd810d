"""The table of properties: which changes Google cannot make in place (``properties.yaml``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field

from stacks.rows import Sourced, Strict
from stacks.yaml_files import read_yaml

__all__ = ["Condition", "PropertiesRow", "Table", "is_guarded", "longest", "table"]

Condition = Literal["smaller", "narrower", "switched_off"]
Scalar = str | int | bool


class PropertiesRow(Strict):
    """One resource type; what the keys mean stands at the head of the file."""

    what: str
    guarded: bool
    inside: dict[str, str] = Field(default_factory=dict)
    replace: list[str]
    keep: list[str] = Field(default_factory=list)
    when: dict[str, Condition] = Field(default_factory=dict)
    in_place: list[str] = Field(default_factory=list)
    defaults: dict[str, Scalar] = Field(default_factory=dict)
    unordered: list[str] = Field(default_factory=list)
    by_name: list[str] = Field(default_factory=list)
    instead: dict[str, str]

    def remedy(self, path: str) -> str:
        """Return what to do instead of changing this property."""
        return self.instead[longest(path, self.instead) or ""]


class Table(Sourced):
    """All types, with where the table was read."""

    types: dict[str, PropertiesRow]


@cache
def table() -> Table:
    """Read the table; it is part of the kit, and a test checks it."""
    data = read_yaml(Path(__file__).with_name("properties.yaml"))
    return Table.model_validate({**data, "as_of": date.fromisoformat(str(data["as_of"]))})


def is_guarded(type_token: str) -> bool:
    """Tell whether replacing or deleting a resource of this type has to be meant."""
    row: PropertiesRow | None = _rows().get(type_token)
    return row is not None and row.guarded


def longest(path: str, rows: Iterable[str]) -> str | None:
    """Return the longest row that is the path or stands above it."""
    return max((row for row in rows if row and (path == row or path.startswith(f"{row}."))), key=len, default=None)


def _rows() -> Mapping[str, PropertiesRow]:
    return table().types
