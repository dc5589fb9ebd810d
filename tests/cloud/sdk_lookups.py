"""Derive ``beamline/sandbox/cloud/lookups.json`` from the result types of pulumi_gcp's lookups.

    python -m tests.cloud.sdk_lookups > beamline/sandbox/cloud/lookups.json

As with ``inputs.json``: the simulated cloud reads the file instead of importing the SDK, and a test compares the two.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from pulumi import _types

from beamline.sandbox.cloud.functions import SHAPED

from .sdk_inputs import SCALARS, encoded, written


def derive() -> dict[str, Any]:
    objects: dict[str, Any] = {}
    results = {token: _fields(_result_of(token), objects) for token in sorted(SHAPED)}
    return {"results": results, "objects": dict(sorted(objects.items()))}


def text() -> str:
    return written(derive())


def _result_of(token: str) -> type:
    module, _, name = token.removeprefix("gcp:").partition("/")
    function = name.partition(":")[2]
    found: type = getattr(importlib.import_module(f"pulumi_gcp.{module}"), f"{function[0].upper()}{function[1:]}Result")
    return found


def _fields(cls: type, objects: dict[str, Any]) -> dict[str, Any]:
    types = _types.output_type_types(cls)
    return {name: _encode(kind, objects) for name, kind in sorted(types.items())}


def _encode(kind: Any, objects: dict[str, Any]) -> Any:
    if kind in SCALARS or not _types.is_output_type(kind):
        return encoded(kind, lambda inner: _encode(inner, objects))
    name = f"{kind.__module__.split('.')[1]}:{kind.__name__}"
    if name not in objects:
        objects[name] = {}
        objects[name] = _fields(kind, objects)
    return {"object": name}


if __name__ == "__main__":
    sys.stdout.write(text())
