"""Keys of JSON documents: from the fields of a class, from a constructor, or from the code that reads them."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import types
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["keys_of_class", "keys_of_constructor", "keys_read"]

_KINDS = {bool: "switch", int: "integer", float: "number", str: "text", dict: "object", list: "list", tuple: "list"}


def keys_of_class(config: type) -> dict[str, dict[str, Any]]:
    """Return the keys of a dataclass or a pydantic model."""
    if dataclasses.is_dataclass(config):
        names = [field.name for field in dataclasses.fields(config) if field.init]
    else:
        names = list(config.model_fields)
    hints = typing.get_type_hints(config)
    return {name: _key(hints.get(name, Any)) for name in sorted(names)}


def keys_of_constructor(config: type, without: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the keys that a constructor takes by name."""
    parameters = inspect.signature(config.__init__).parameters.values()
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    named = {p.name: p for p in parameters if p.kind in kinds and p.name not in {"self", *without}}
    return {name: _key(_annotation(named[name], config)) for name in sorted(named)}


def _annotation(parameter: inspect.Parameter, config: type) -> Any:
    if not isinstance(parameter.annotation, str):
        return parameter.annotation
    names = vars(inspect.getmodule(config))
    return eval(parameter.annotation, dict(names))  # noqa: S307 - an annotation of the installed engine


def _key(annotation: Any) -> dict[str, Any]:
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        parts = [part for part in typing.get_args(annotation) if part is not types.NoneType]
        found = [_key(part) for part in parts]
        choices = sorted({choice for one in found for choice in one.get("choices", [])})
        if choices and all("choices" in one for one in found):
            return {"kind": "text", "choices": choices}
        return found[0] if len({one["kind"] for one in found}) == 1 and not choices else {"kind": "any"}
    if typing.get_origin(annotation) is typing.Annotated:
        return _key(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) is typing.Literal:
        values = typing.get_args(annotation)
        if all(isinstance(value, str) for value in values):
            return {"kind": "text", "choices": sorted(values)}
        return {"kind": "any"}
    plain = typing.get_origin(annotation) or annotation
    return {"kind": _KINDS.get(plain, "any") if isinstance(plain, type) else "any"}


def keys_read(files: Iterable[Path], names: Iterable[str]) -> Mapping[str, dict[str, Any]]:
    """Return the keys that code reads from a mapping: ``names`` is how it calls it, last part first.

    Found are ``.get("key")``, ``.pop("key")``, ``["key"]``, ``"key" in`` and calls of a function of such a name.
    """
    wanted = set(names)
    found = {
        key
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        for key in _read(node, wanted)
    }
    return {key: {"kind": "any"} for key in sorted(found)}


def _read(node: ast.AST, wanted: set[str]) -> Iterable[str]:
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr="get" | "pop"), args=[ast.Constant(value=str(key)), *_]):
            if _last(value) in wanted:
                yield key
        case ast.Call(func=function, args=[ast.Constant(value=str(key)), *_]):
            if _last(function) in wanted:
                yield key
        case ast.Subscript(value=value, slice=ast.Constant(value=str(key))):
            if _last(value) in wanted:
                yield key
        case ast.Compare(left=ast.Constant(value=str(key)), ops=[ast.In() | ast.NotIn()], comparators=[value]):
            if _last(value) in wanted:
                yield key


def _last(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.BoolOp(values=[first, *_]):
            return _last(first)
    return ""
