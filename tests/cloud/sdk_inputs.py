"""Derive ``beamline/sandbox/cloud/inputs.json`` from the input types of pulumi_gcp.

    python -m tests.cloud.sdk_inputs > beamline/sandbox/cloud/inputs.json

The simulated cloud reads the file instead of the SDK: importing the SDK's compute package takes a second and 60 MB.
A test compares the two, so that an SDK upgrade shows.
"""

from __future__ import annotations

import collections.abc
import importlib
import inspect
import json
import sys
import typing
from collections.abc import Callable
from typing import Any

from pulumi import _types

from beamline.sandbox.cloud.kinds import KINDS

SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean"}


def derive() -> dict[str, Any]:
    objects: dict[str, Any] = {}
    resources = {token: _fields(_args_of(token), objects) for token in sorted(KINDS)}
    return {"resources": resources, "objects": dict(sorted(objects.items()))}


def text() -> str:
    return written(derive())


def written(derived: dict[str, dict[str, Any]]) -> str:
    """Write one type a line, so that an SDK upgrade reads as a difference of types."""
    lines = [
        f"  {json.dumps(section)}: {{\n"
        + ",\n".join(f"    {json.dumps(name)}: {json.dumps(fields)}" for name, fields in derived[section].items())
        + "\n  }"
        for section in derived
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _args_of(token: str) -> type:
    module, _, name = token.removeprefix("gcp:").partition("/")
    package = importlib.import_module(f"pulumi_gcp.{module.lower()}")
    found: type = getattr(package, f"{name.partition(':')[2]}Args")
    return found


def _fields(cls: type, objects: dict[str, Any]) -> dict[str, Any]:
    names = _types.input_type_py_to_pulumi_names(cls)
    types = {name: _encode(kind, objects) for name, kind in _types.input_type_types(cls).items()}
    parameters = inspect.signature(cls.__init__).parameters
    required = sorted(
        names[name]
        for name, parameter in parameters.items()
        if name in names and parameter.default is inspect.Parameter.empty
    )
    return {"fields": dict(sorted(types.items())), "required": required}


def encoded(kind: Any, inner: Callable[[Any], Any]) -> Any:
    """Encode a scalar, or a list or map whose items ``inner`` encodes."""
    if kind in SCALARS:
        return SCALARS[kind]
    origin = typing.get_origin(kind)
    if origin in (collections.abc.Sequence, list):
        return {"list": inner(typing.get_args(kind)[0])}
    if origin in (collections.abc.Mapping, dict):
        return {"map": inner(typing.get_args(kind)[1])}
    return "any"


def _encode(kind: Any, objects: dict[str, Any]) -> Any:
    kind = _bare(kind)
    if inspect.isclass(kind) and _types.is_input_type(kind):
        name = f"{kind.__module__.split('.')[1]}:{kind.__name__.removesuffix('Args')}"
        if name not in objects:
            objects[name] = {}
            objects[name] = _fields(kind, objects)
        return {"object": name}
    return encoded(kind, lambda inner: _encode(inner, objects))


def _bare(kind: Any) -> Any:
    """Strip Optional, Input and Output from a type."""
    if typing.get_origin(kind) is typing.Union:
        inner = [
            argument
            for argument in typing.get_args(kind)
            if argument is not type(None)
            and not isinstance(argument, typing.ForwardRef)
            and typing.get_origin(argument) is not collections.abc.Awaitable
            and "Output" not in str(argument)
        ]
        return _bare(inner[0]) if inner else Any
    return kind


if __name__ == "__main__":
    sys.stdout.write(text())
