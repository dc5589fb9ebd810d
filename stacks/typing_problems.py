"""Turns Pydantic's findings into problems: the user's path, the nearest known key, the hint that helps.

Pydantic's own location of an error inside a tagged union contains the tag; users do not write it, so it is left out.
"""

from __future__ import annotations

import difflib
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from stacks.problems import Problem

__all__ = ["dotted", "nearest", "validation_problems"]

Path = tuple[str | int, ...]


def dotted(path: Iterable[str | int]) -> str:
    """Write a path as users read it: ``serving.engine.version``, ``items[2]``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word closest to ``word``, or None when nothing is close."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return close[0] if close else None


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """All models an annotation may hold, through Annotated, unions and containers."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    origin = get_origin(annotation)
    if origin is Annotated:
        return _models_in(get_args(annotation)[0])
    if origin in (Union, types.UnionType, list, dict, tuple):
        return [m for arg in get_args(annotation) for m in _models_in(arg)]
    return []


def _known_keys(model: type[BaseModel], path: Path, data: Any) -> list[str]:
    """Keys that may stand at ``path``; of a tagged union, those of the member whose tag the data carries."""
    models = [model]
    for part in path:
        data = _child(data, part)
        fields = [m.model_fields[str(part)] for m in models if str(part) in m.model_fields]
        models = [found for f in fields for found in _models_in(f.annotation)] or models
        kind = data.get("kind") if isinstance(data, Mapping) else None
        tagged = [m for m in models if "kind" in m.model_fields and kind in get_args(m.model_fields["kind"].annotation)]
        models = tagged or models
    return sorted({key for m in models for key in m.model_fields})


def _child(data: Any, part: str | int) -> Any:
    if isinstance(data, Mapping):
        return data.get(part)
    if isinstance(data, Sequence) and not isinstance(data, str) and isinstance(part, int) and part < len(data):
        return data[part]
    return None


def _user_path(location: Sequence[str | int], data: Any, *, last_may_be_absent: bool) -> Path:
    """Drop the union tags from Pydantic's location by walking the user's own data."""
    path: list[str | int] = []
    for index, part in enumerate(location):
        is_last = index == len(location) - 1
        present = (isinstance(data, Mapping) and part in data) or (isinstance(data, list) and isinstance(part, int))
        if not present and not (is_last and last_may_be_absent):
            continue
        path.append(part)
        data = _child(data, part)
    return tuple(path)


def _unknown_key(path: Path, model: type[BaseModel], data: Any, known: Sequence[str], where: str) -> Problem:
    key = str(path[-1])
    guess = nearest(key, known)
    return Problem(
        rule="unknown-key",
        path=dotted(path),
        value=data,
        why=f"there is no key {key!r} here, so it would do nothing" + (f"; did you mean {guess!r}?" if guess else ""),
        allowed=", ".join(known),
        remedy=f"rename it to {guess!r}" if guess else "remove it or use one of the allowed keys",
        where=where,
        source=f"schema of {model.__name__}",
    )


_HINTS = {
    "string_type": "write a string; quote it if it looks like a number (a version 1.30 would become 1.3)",
    "int_type": "write a whole number without quotes or decimals",
    "int_from_float": "write a whole number without decimals",
    "bool_type": "write true or false without quotes",
    "date_type": "write a day as YYYY-MM-DD",
}


def _one(error: ErrorDetails, model: type[BaseModel], data: Any, where: str) -> Problem:
    kind = error["type"]
    path = _user_path(error["loc"], data, last_may_be_absent=kind == "missing")
    value: Any = data
    for part in path:
        value = _child(value, part)
    if kind == "extra_forbidden":
        return _unknown_key(path, model, value, _known_keys(model, path[:-1], data), where)
    context = error.get("ctx", {})
    shown = dotted(path) or "(top level)"
    if kind == "missing":
        return Problem(
            rule="missing-key",
            path=shown,
            why="this key is required and has no default",
            remedy=f"add {path[-1] if path else 'it'}",
            where=where,
            source=f"schema of {model.__name__}",
        )
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        tag = value.get("kind") if isinstance(value, Mapping) else None
        tags = str(context.get("expected_tags", "")) or ", ".join(_tags(model, path))
        return Problem(
            rule="wrong-kind",
            path=f"{shown}.kind",
            value=tag,
            why="this section is chosen by its kind" + ("" if tag is None else "; that kind does not exist"),
            allowed=tags,
            remedy="set kind to one of the allowed words",
            where=where,
            source=f"schema of {model.__name__}",
        )
    return Problem(
        rule="wrong-value",
        path=shown,
        value=value,
        why=error["msg"][:1].lower() + error["msg"][1:],
        allowed=str(context.get("expected", context.get("pattern", ""))),
        remedy=_HINTS.get(kind, "write one of the allowed values"),
        where=where,
        source=f"schema of {model.__name__}",
    )


def _tags(model: type[BaseModel], path: Path) -> list[str]:
    models = [model]
    for part in path:
        fields = [m.model_fields[str(part)] for m in models if str(part) in m.model_fields]
        models = [found for f in fields for found in _models_in(f.annotation)]
    return sorted(
        tag for m in models if "kind" in m.model_fields for tag in get_args(m.model_fields["kind"].annotation)
    )


def validation_problems(error: ValidationError, *, model: type[BaseModel], data: Any, where: str) -> list[Problem]:
    """Return one problem per finding; ``data`` is what was validated, ``where`` the file it came from."""
    return [_one(found, model, data, where) for found in error.errors(include_url=False)]
