"""What components register, against the input types of Pulumi's own SDKs.

The SDKs do not check inputs: a misspelt key or a number written as text passes quietly and is refused by the cloud half
an hour later, or dropped. Their type annotations know better, and reading them needs no cloud and no plugin. They prove
names, kinds of values and what is required, not what the API accepts. Custom resources have no SDK type; their schemas
judge them (``beamline.checks.kubernetes_schemas``).
"""

from __future__ import annotations

import inspect
from collections import abc
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pulumi import _types

from beamline.engine import Graph, Resource, Secret, Unknown, Value
from components.sdk import arguments_class, resource_class
from stacks.problems import Problem
from stacks.typing_problems import nearest

__all__ = ["sdk_input_problems"]

_SCALARS: Mapping[Any, str] = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


@dataclass(frozen=True)
class _Mismatch:
    path: str
    value: Value
    why: str
    allowed: str


def sdk_input_problems(graph: Graph) -> list[Problem]:
    """Return a problem for every input that the SDK has no place for, in the order of the graph."""
    return [
        Problem(
            rule="sdk-input",
            path=f"{resource.name}{mismatch.path}",
            value=mismatch.value,
            why=mismatch.why,
            allowed=mismatch.allowed,
            remedy="correct the component or the manifest that builds this resource",
            source=f"inputs of {resource.type} in Pulumi's SDK {resource.version}",
        )
        for resource in graph.resources
        for mismatch in _mismatches(resource)
    ]


def _mismatches(resource: Resource) -> Iterator[_Mismatch]:
    known = resource_class(resource.type) if resource.custom and not resource.type.startswith("pulumi:") else None
    if known is not None:
        yield from _judge_object(dict(resource.inputs), arguments_class(known), "")


def _judge(value: Value, expected: Any, path: str) -> Iterator[_Mismatch]:
    """Judge one value; what is unknown until the cloud answers fits everything."""
    if isinstance(value, Secret):
        yield from (replace(found, value=None) for found in _judge(value.value, expected, path))
        return
    choices = _choices(expected)
    if value is None or isinstance(value, Unknown) or Any in choices:
        return
    tries = [list(_judge_one(value, choice, path)) for choice in choices]
    if not tries or not all(tries):
        return
    deeper = [found for found in tries if found[0].path != path]
    if deeper or len(tries) == 1:
        yield from min(deeper or tries, key=len)
    else:
        allowed = " or ".join(found[0].allowed for found in tries)
        yield _Mismatch(path, value, f"{allowed} belongs here", allowed)


def _judge_one(value: Value, expected: Any, path: str) -> Iterator[_Mismatch]:
    origin = get_origin(expected)
    if origin is Literal:
        if value not in get_args(expected):
            yield _Mismatch(path, value, "the SDK's type has one fixed value here", f"{get_args(expected)[0]}")
    elif origin is abc.Sequence:
        yield from _judge_list(value, get_args(expected)[0], path)
    elif origin is abc.Mapping:
        yield from _judge_map(value, get_args(expected)[1], path)
    elif inspect.isclass(expected) and issubclass(expected, Enum):
        yield from _judge_scalar(value, str, path)
    elif expected in _SCALARS:
        yield from _judge_scalar(value, expected, path)
    elif isinstance(value, dict):
        yield from _judge_object(value, expected, path)
    else:
        yield _Mismatch(path, value, "an object belongs here", f"an object with {_some(_properties(expected))}")


def _judge_scalar(value: Value, expected: type, path: str) -> Iterator[_Mismatch]:
    fits = isinstance(value, int | float) if expected is float else isinstance(value, expected)
    if isinstance(value, bool) and expected is not bool:
        fits = False  # Python counts booleans among the integers, the engine does not
    if not fits:
        yield _Mismatch(path, value, f"{_SCALARS[expected]} belongs here", _SCALARS[expected])


def _judge_list(value: Value, item: Any, path: str) -> Iterator[_Mismatch]:
    if not isinstance(value, list):
        yield _Mismatch(path, value, "a list belongs here", "a list")
        return
    for index, element in enumerate(value):
        yield from _judge(element, item, f"{path}[{index}]")


def _judge_map(value: Value, item: Any, path: str) -> Iterator[_Mismatch]:
    if not isinstance(value, dict):
        yield _Mismatch(path, value, "a map belongs here", "a map")
        return
    for key, element in value.items():
        yield from _judge(element, item, f"{path}.{key}")


def _judge_object(value: dict[str, Value], expected: Any, path: str) -> Iterator[_Mismatch]:
    properties = _properties(expected)
    for key, element in value.items():
        name = key.replace("x-kubernetes-", "x_kubernetes_").replace("-", "_") if key.startswith("x-") else key
        if name in properties:
            yield from _judge(element, properties[name], f"{path}.{key}")
        else:
            guess = nearest(key, list(properties))
            why = "the SDK knows no such input" + (f"; did you mean {guess!r}?" if guess else "")
            yield _Mismatch(f"{path}.{key}", None, why, _some(properties))
    for name in sorted(_required(expected) - value.keys()):
        yield _Mismatch(f"{path}.{name}", None, "this input is required and missing", "any value of its type")


def _choices(expected: Any) -> list[Any]:
    """Return what an annotation allows, less the SDK's plumbing (outputs, awaitables, optional, dictionaries)."""
    union = get_origin(expected) in (Union, UnionType)
    parts = get_args(expected) if union else (expected,)
    return [part for part in parts if part is not NoneType and not _types._is_plumbing_arg(part)]  # noqa: SLF001


@cache
def _properties(arguments: Any) -> Mapping[str, Any]:
    return _types.input_type_types(arguments)


@cache
def _required(arguments: Any) -> frozenset[str]:
    names = _types.input_type_py_to_pulumi_names(arguments)
    parameters = inspect.signature(arguments.__init__).parameters.values()
    return frozenset(names[p.name] for p in parameters if p.name in names and p.default is inspect.Parameter.empty)


def _some(properties: Mapping[str, Any]) -> str:
    names = sorted(properties)
    shown = 8
    return ", ".join(names[:shown]) + (", ..." if len(names) > shown else "")
