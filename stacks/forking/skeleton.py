"""A row for hardware nobody has described: every column, with its unit, what it means and where it is found."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from stacks.columns import MISSING, Column, Group, hardware_columns, still_missing
from stacks.problems import Problem
from stacks.rows import HardwareColumns

__all__ = ["row_file", "row_text"]


def row_file(machine_type: str) -> str:
    """Return the path of a machine type's row below stacks/."""
    return f"catalog/hardware/{machine_type}.yaml"


def row_text(machine_type: str, look_in: HardwareColumns) -> tuple[str, list[Problem]]:
    """Return the text of the row's file, and a problem for each column that has to be found."""
    lines = [
        "# yaml-language-server: $schema=../../schemas/hardware.schema.json",
        f"# Nothing is known about {machine_type} yet. Write what you find in place of every {MISSING};",
        "# what is commented out has a default. Until then plan refuses stacks on this hardware, and those only.",
        "# Then fork once more, with the same words.",
        f"machine_type: {machine_type}",
    ]
    for group in hardware_columns():
        lines += _lines(group, look_in) if group.name else _whole_groups(group)
    text = "\n".join(lines) + "\n"
    return text, still_missing(yaml.safe_load(text), f"stacks/{row_file(machine_type)}", look_in)


def _whole_groups(group: Group) -> Iterator[str]:
    """Groups that a row may leave out, on one line each."""
    for column in group.columns:
        if column.default is not None:
            yield f"# {column.name}: {column.default}  # {_said(column)}"


def _lines(group: Group, look_in: HardwareColumns) -> Iterator[str]:
    yield f"# {group.means}" if group.means else "#"
    yield f"# Look in: {look_in.place_of(group.name)}"
    yield f"{group.name}:"
    for column in group.columns:
        if look_in.place_of(column.path) != look_in.place_of(group.name):
            yield f"  # {column.name}: look in {look_in.place_of(column.path)}"
        value = f"  {column.name}: {MISSING}" if column.default is None else f"  # {column.name}: {column.default}"
        yield f"{value}  # {_said(column)}"


def _said(column: Column) -> str:
    unit = f", in {column.unit}" if column.unit else ""
    return f"{column.allowed}{unit}{f'. {column.means}' if column.means else ''}"
