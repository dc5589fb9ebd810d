"""Results of lookups, in the shape that Google's provider gives them.

A lookup of a resource answers with every field of its result type, blocks as lists of one under a plural name, and what
is not set as empty. ``lookups.json`` holds the types; ``tests/cloud/sdk_lookups.py`` derives it from the SDK.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["shaped"]

_EMPTY: dict[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False}


def shaped(token: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a lookup from the values of the resource it found."""
    return _object(_types()["results"][token], values)


@cache
def _types() -> dict[str, dict[str, Any]]:
    types: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "lookups.json").read_text())
    return types


def _object(fields: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    named = {name: value for key, value in values.items() for name in (key, *_plurals(key)) if name in fields}
    return {name: _value(kind, named.get(name)) for name, kind in fields.items()}


def _plurals(key: str) -> tuple[str, ...]:
    return (f"{key}s", f"{key}es", f"{key[:-1]}ies")


def _value(kind: Any, value: Any) -> Any:
    if isinstance(kind, str):
        if kind == "integer" and value:
            return int(value)  # numeric ids are strings as outputs of a resource
        return _EMPTY.get(kind) if value is None else value
    if "list" in kind:
        items = [] if value is None else value if isinstance(value, list) else [value]
        return [_value(kind["list"], item) for item in items]
    if "map" in kind:
        return {key: _value(kind["map"], item) for key, item in (value or {}).items()}
    return _object(_types()["objects"][kind["object"]], value or {})
