"""Reading YAML the strict way, with scalars read as Pulumi reads them.

PyYAML alone would take ``yes`` for true, ``12:30`` for a number and ``1e6`` for text, and would keep the last of two
equal keys; Pulumi (YAML 1.2) does none of that. A stack file must mean the same to ``beamline plan`` and to
``pulumi up``, so the rules here are Pulumi's, for presets and catalog rows too. tests/stacks/test_pulumi_values.py
asks the real engine.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any, ClassVar

import yaml
from yaml.constructor import ConstructorError

from stacks.problems import Problem, ProblemsFound

__all__ = ["read_value", "read_yaml", "shown", "unwieldy"]

_CHECKOUT = Path(__file__).parent.parent
_MERGE = "tag:yaml.org,2002:merge"
_MAPPING = "tag:yaml.org,2002:map"
_INT = re.compile(r"[-+]?(0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)$")
_FLOAT = re.compile(r"[-+]?(\.[0-9][0-9_]*|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?$")
_MOMENT = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{1,2}-[0-9]{1,2})"
    r"(([Tt]|(?P<blank> ))(?P<clock>[0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2})(?P<fraction>\.[0-9]{1,9})?"
    r"(?(blank)|(?P<zone>Z|[-+][0-9]{2}:[0-9]{2})))?$"
)
_UNWIELDY = "its lists or sections are nested too deeply, or hold too many values"
_LIBYAMLS_LIMIT = "exceeded maximum nesting depth"
_MOST_LEVELS = 50
"""No file of ours has ten; whoever walks the data may then do so by recursion."""
_MOST_VALUES = 100_000
"""On one level; aliases of aliases can be ten lines long and hold billions."""
_INT64, _UINT64 = -(2**63), 2**64


class _StrictLoader(yaml.CSafeLoader):
    """SafeLoader without YAML 1.1's surprises; a key written twice or not as text is an error.

    On libyaml, which Pulumi's own reader is a translation of, and which is many times faster than PyYAML's in Python.
    """

    yaml_implicit_resolvers = {}  # noqa: RUF012 - PyYAML keeps it on the class, too
    yaml_constructors: ClassVar[dict[str | None, Any]] = {
        tag: constructor
        for tag, constructor in yaml.SafeLoader.yaml_constructors.items()
        if tag is None or tag.rpartition(":")[2] in ("null", "bool", "str", "seq")
    }


def _integer(text: str) -> int:
    sign, digits = (text[0], text[1:]) if text[0] in "-+" else ("", text)
    octal = re.fullmatch(r"0o?([0-7]+)", digits)
    return int(sign + octal[1], 8) if octal else int(sign + digits, 0)


def _number(loader: _StrictLoader, node: yaml.ScalarNode) -> int | float | str:
    """Read a number as Go does: beyond 64 bits an integer becomes a float, beyond a float it stays text."""
    written = str(loader.construct_scalar(node))
    text = written.replace("_", "")
    try:
        if _INT.match(text):
            number = _integer(text)
            return number if _INT64 <= number < _UINT64 else float(number)
        as_float = float(text)
    except (ValueError, OverflowError):
        return written
    return as_float if abs(as_float) != float("inf") else written


def _moment(loader: _StrictLoader, node: yaml.ScalarNode) -> dt.date | str:
    """Read a day, or a moment of one, in the forms that Go's YAML reader takes; others stay text."""
    text = str(loader.construct_scalar(node))
    found = _MOMENT.match(text)
    if found is None:  # an explicit tag on something else
        return text
    day, clock, fraction, zone = found.group("day", "clock", "fraction", "zone")
    try:
        date = dt.date(*map(int, day.split("-")))
        if clock is None:
            return date
        hour, minute, second = map(int, clock.split(":"))
        micros = int((fraction or ".0")[1:7].ljust(6, "0"))
        return dt.datetime.combine(date, dt.time(hour, minute, second, micros), _zone(zone))
    except ValueError:
        return text


def _zone(text: str | None) -> dt.timezone:
    if text in (None, "Z"):
        return dt.UTC
    hours, minutes = map(int, str(text)[1:].split(":"))
    offset = dt.timedelta(hours=hours, minutes=minutes)
    return dt.timezone(-offset if str(text).startswith("-") else offset)


def _mapping(loader: _StrictLoader, node: yaml.MappingNode) -> dict[Hashable, Any]:
    seen: set[str] = set()
    for key_node, _ in node.value:
        if key_node.tag == _MERGE:
            continue
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            shown_key = key_node.value if isinstance(key_node, yaml.ScalarNode) else "a list or a section"
            raise ConstructorError(None, None, f"a key must be text; put {shown_key} in quotes", key_node.start_mark)
        if key in seen:
            raise ConstructorError(None, None, f"key {key!r} is written twice", key_node.start_mark)
        seen.add(key)
    loader.flatten_mapping(node)
    return loader.construct_mapping(node, deep=True)


for _tag, _pattern, _first in (
    ("bool", re.compile(r"(true|True|TRUE|false|False|FALSE)$"), "tTfF"),
    ("null", re.compile(r"(~|null|Null|NULL|)$"), ["~", "n", "N", ""]),
    ("int", _INT, "-+0123456789"),
    ("float", _FLOAT, "-+.0123456789"),
    ("timestamp", _MOMENT, "0123456789"),
    ("merge", re.compile(r"<<$"), "<"),
):
    _StrictLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", _pattern, list(_first))
_StrictLoader.add_constructor("tag:yaml.org,2002:int", _number)
_StrictLoader.add_constructor("tag:yaml.org,2002:float", _number)
_StrictLoader.add_constructor("tag:yaml.org,2002:timestamp", _moment)
_StrictLoader.add_constructor(_MAPPING, _mapping)


def shown(path: Path) -> str:
    """Write a path as messages do: relative to the checkout where it is inside."""
    return str(path.relative_to(_CHECKOUT)) if path.is_relative_to(_CHECKOUT) else str(path)


def read_yaml(path: Path, *, where: str = "") -> dict[str, Any]:
    """Read one YAML mapping; raises ``ProblemsFound`` for a missing, unreadable or non-mapping file.

    ``where`` is the file's name in messages, when it is not ``shown(path)``.
    """
    where = where or shown(path)
    try:
        data = read_value(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _broken(path, where, f"the file cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise _broken(path, where, f"the file is not UTF-8 text: {error.reason}") from error
    except ValueError as error:
        raise _broken(path, where, str(error)) from error
    if data is None:
        raise _broken(path, where, "the file is empty")
    if not isinstance(data, dict):
        raise _broken(path, where, "the file must hold key: value lines at its top level")
    return data


def read_value(text: str) -> Any:
    """Read YAML text, whatever it holds; raises ``ValueError`` that says what is wrong with it."""
    try:
        data = yaml.load(text, Loader=_StrictLoader)  # noqa: S506 - a SafeLoader
    except yaml.YAMLError as error:
        if _LIBYAMLS_LIMIT in str(error):
            raise ValueError(_UNWIELDY) from error
        raise ValueError(f"this is not valid YAML: {_said(error)}") from error
    except RecursionError as error:
        raise ValueError(_UNWIELDY) from error
    if unwieldy(data):
        raise ValueError(_UNWIELDY)
    return data


def unwieldy(data: Any) -> bool:
    """Tell whether data is nested deeper or holds more than any file of ours needs; walks level by level."""
    level = [data]
    for _ in range(_MOST_LEVELS):
        level = [
            item
            for outer in level
            if isinstance(outer, dict | list)
            for item in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if len(level) > _MOST_VALUES:
            return True
    return bool(level)


def _said(error: yaml.YAMLError) -> str:
    """What PyYAML found, with line and column in place of its excerpt."""
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        return place + (error.problem or error.context or "unreadable")
    return " ".join(str(error).split())


def _broken(path: Path, where: str, why: str) -> ProblemsFound:
    return ProblemsFound(
        [Problem(rule="yaml", path=path.name, why=why, remedy="correct the file and run again", where=where)]
    )
