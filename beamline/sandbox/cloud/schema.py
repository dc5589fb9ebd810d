"""Inputs checked against the input types of pulumi_gcp: unknown names, wrong types, what is missing.

The SDK itself does not check: a misspelt key in a dict reaches the provider. ``inputs.json`` holds the types of the
resources this cloud knows; ``tests/cloud/sdk_inputs.py`` derives it from the SDK.
"""

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from beamline.sandbox.cloud.values import UNKNOWN

__all__ = ["Failure", "input_failures"]

_SCALARS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


@dataclass(frozen=True)
class Failure:
    """One input that cannot be right: where it is, and why."""

    path: str
    reason: str


@cache
def _types() -> dict[str, dict[str, Any]]:
    types: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "inputs.json").read_text())
    return types


def input_failures(kind: str, inputs: Mapping[str, Any]) -> Iterator[Failure]:
    """Yield every input of a resource that its type does not allow."""
    yield from _object(_types()["resources"][kind], inputs, "")


def _object(definition: Mapping[str, Any], value: Mapping[str, Any], path: str) -> Iterator[Failure]:
    fields = definition["fields"]
    for key, item in value.items():
        if key.startswith("__"):
            continue
        at = f"{path}.{key}" if path else key
        if key not in fields:
            near = difflib.get_close_matches(key, fields, n=1)
            yield Failure(at, "unknown property" + (f"; did you mean {near[0]}?" if near else ""))
            continue
        yield from _value(fields[key], item, at)
    for key in definition["required"]:
        if value.get(key) is None:
            yield Failure(f"{path}.{key}" if path else key, "this property is required")


def _value(expected: Any, value: Any, path: str) -> Iterator[Failure]:
    if value == UNKNOWN or expected == "any":
        return
    if isinstance(expected, str):
        right = isinstance(value, _SCALARS[expected]) and (isinstance(value, bool) is (expected == "boolean"))
        if not right:
            yield Failure(path, f"expected {expected}, got {value!r}")
    elif "list" in expected:
        if not isinstance(value, list):
            yield Failure(path, f"expected a list, got {value!r}")
            return
        for index, item in enumerate(value):
            yield from _value(expected["list"], item, f"{path}[{index}]")
    elif not isinstance(value, Mapping):
        yield Failure(path, f"expected a map, got {value!r}")
    elif "map" in expected:
        for key, item in value.items():
            yield from _value(expected["map"], item, f"{path}.{key}")
    else:
        yield from _object(_types()["objects"][expected["object"]], value, path)
