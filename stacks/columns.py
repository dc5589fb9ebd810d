"""The columns of a hardware row: what each means, in which unit, and where such a figure is found.

A row for hardware nobody has described yet starts with ``MISSING`` in every column that has no default. That word is
no value: a stack on such hardware is refused with one problem per column, and no other stack is touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from stacks.forms import Form
from stacks.problems import Problem, touches
from stacks.rows import HardwareColumns, HardwareRow, Sourced
from stacks.typing_problems import dotted, validation_problems

__all__ = ["MISSING", "Column", "Group", "hardware_columns", "is_unfinished", "still_missing"]

MISSING = "<missing>"
"""Stands where a value has to be found; no figure, name or version is written so."""
_UNITS = (
    ("gb_per_s", "GB/s"),
    ("gbps", "Gbit/s"),
    ("usd_per_hour", "USD/h"),
    ("gib", "GiB"),
    ("mib", "MiB"),
    ("gb", "GB"),
    ("s", "seconds"),
)
_WORDS: Mapping[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    date: "a day, YYYY-MM-DD",
    NoneType: "null",
}


@dataclass(frozen=True)
class Column:
    """One figure of a row; ``default`` is None where it has to be found."""

    path: str
    means: str
    unit: str
    allowed: str
    default: str | None

    @property
    def name(self) -> str:
        """The key within its group."""
        return self.path.rpartition(".")[2]


@dataclass(frozen=True)
class Group:
    """Figures with one origin; ``name`` is empty for the row's own columns."""

    name: str
    means: str
    columns: tuple[Column, ...]


def hardware_columns() -> list[Group]:
    """Return every column of a hardware row as the model declares it, group by group."""
    groups = []
    for name, field in HardwareRow.model_fields.items():
        model = _model(field.annotation)
        if model is None:
            groups.append(Group("", "", (_column(name, field),)))
        else:
            keys = sorted(
                model.model_fields, key=lambda key: key in Sourced.model_fields
            )  # origin last, as in all rows
            columns = tuple(_column(f"{name}.{key}", model.model_fields[key]) for key in keys)
            groups.append(Group(name, _first_line(model), columns))
    return groups


def _model(annotation: Any) -> type[BaseModel] | None:
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _first_line(model: type[BaseModel]) -> str:
    return (model.__doc__ or "").strip().partition("\n")[0]


def _column(path: str, field: FieldInfo) -> Column:
    default = None if field.is_required() else field.get_default(call_default_factory=True)
    return Column(
        path=path,
        means=field.description or "",
        unit=_unit(path.rpartition(".")[2]),
        allowed=_allowed(field.annotation, field.metadata),
        default=None if field.is_required() else _as_yaml(default),
    )


def _unit(name: str) -> str:
    return next((unit for suffix, unit in _UNITS if re.search(rf"(^|_){suffix}(_|$)", name)), "")


def _as_yaml(default: Any) -> str:
    if default is None or isinstance(default, bool):
        return {None: "null", True: "true", False: "false"}[default]
    return str(default)


def _allowed(annotation: Any, metadata: list[Any]) -> str:
    """Say in words what a column takes."""
    form = next((item for item in metadata if isinstance(item, Form)), None)
    if form is not None:
        return form.words
    model = _model(annotation)
    if model is not None:
        keys = (f"{key} ({_allowed(field.annotation, field.metadata)})" for key, field in model.model_fields.items())
        return f"a section with {', '.join(keys)}"
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _allowed(arguments[0], list(arguments[1:]))
    if origin is Literal:
        return " or ".join(map(str, arguments))
    parts = [_allowed(argument, []) for argument in arguments]
    said = {Union: " or ", UnionType: " or ", dict: ": ", list: ""}
    return (
        {dict: "a section, ", list: "a list: "}.get(origin, "") + said[origin].join(parts)
        if origin
        else _WORDS[annotation]
    )


def is_unfinished(row: Any) -> bool:
    """Tell whether a row's data still says somewhere that a value has to be found."""
    if isinstance(row, Mapping):
        return any(is_unfinished(value) for value in row.values())
    if isinstance(row, list):
        return any(is_unfinished(item) for item in row)
    return bool(row == MISSING)


def still_missing(row: Mapping[str, Any], where: str, look_in: HardwareColumns) -> list[Problem]:
    """Return one problem for each column that has to be found, and what is wrong with those that are filled.

    ``row`` is the data of an unfinished row, ``where`` its file.
    """
    found = [_missing(column, where, look_in) for column in _unfilled(row)]
    paths = {problem.path for problem in found}
    try:
        HardwareRow.model_validate(row)
    except ValidationError as error:
        wrong = validation_problems(error, model=HardwareRow, data=row, where=where)
        found += [problem for problem in wrong if not touches(problem.path.partition("[")[0], paths)]
    return found


def _unfilled(row: Mapping[str, Any]) -> Iterator[Column]:
    for group in hardware_columns():
        section = row.get(group.name) if group.name else row
        for column in group.columns:
            value = section.get(column.name, MISSING) if isinstance(section, Mapping) else MISSING
            left_out = not isinstance(section, Mapping) or column.name not in section
            if is_unfinished(value) and not (left_out and column.default is not None):
                yield column


def _missing(column: Column, where: str, look_in: HardwareColumns) -> Problem:
    means = f": {column.means}" if column.means else ""
    return Problem(
        rule="hardware-column-missing",
        path=dotted(column.path.split(".")),
        why=f"the row has no value for this column yet{means}",
        allowed=f"{column.allowed}{f', in {column.unit}' if column.unit else ''}",
        remedy=f"look in {look_in.place_of(column.path)}, and write the value in place of {MISSING}",
        where=where,
        source="stacks/catalog/hardware-columns.yaml",
    )
