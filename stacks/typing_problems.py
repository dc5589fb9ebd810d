"""Turns Pydantic's findings into problems: the user's path, the nearest known key, the hint that helps.

Pydantic's own location of an error inside a tagged union contains the tag; users do not write it, so it is left out.
Its messages speak of inputs and instances; ours say what was found and what is needed.
"""

from __future__ import annotations

import difflib
import json
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from stacks.problems import Problem
from stacks.rows import Strict

__all__ = ["Path", "dotted", "located_problems", "nearest", "unknown_key", "validation_problems"]

Path = tuple[str | int, ...]
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_:-]+")


def dotted(path: Iterable[str | int]) -> str:
    """Write a path as users read it: ``serving.engine.version``, ``items[2]``, ``overrides["a.b"]``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if _PLAIN_KEY.fullmatch(part) else f"[{json.dumps(part, ensure_ascii=False)}]"
    return text.removeprefix(".")


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known word closest to ``word``, or None when nothing is as alike as ``cutoff`` (0 to 1)."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=cutoff)
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


def _models_at(model: type[BaseModel], path: Path, data: Any) -> list[type[BaseModel]]:
    """Models that may describe ``path``; of a tagged union, the member whose tag the data carries."""
    return _walked(model, path, data)[0]


def _walked(model: type[BaseModel], path: Path, data: Any) -> tuple[list[type[BaseModel]], bool]:
    """Models that may describe ``path``, and whether the next part is a name of the user's own, not a field."""
    models: list[type[BaseModel]] = [model]
    named = False
    for part in path:
        data = _child(data, part)
        fields = [m.model_fields[str(part)] for m in models if not named and str(part) in m.model_fields]
        models = [found for f in fields for found in _models_in(f.annotation)] or models
        kind = data.get("kind") if isinstance(data, Mapping) else None
        models = [m for m in models if kind in _kinds([m])] or models
        named = any(get_origin(f.annotation) is dict for f in fields)
    return models, named


def _kinds(models: Iterable[type[BaseModel]]) -> list[str]:
    return sorted(k for m in models if "kind" in m.model_fields for k in get_args(m.model_fields["kind"].annotation))


def _child(data: Any, part: str | int) -> Any:
    if isinstance(data, Mapping):
        return data.get(part)
    if isinstance(data, Sequence) and not isinstance(data, str) and isinstance(part, int) and part < len(data):
        return data[part]
    return None


def _user_path(location: Sequence[str | int], model: type[BaseModel], data: Any, *, last_may_be_absent: bool) -> Path:
    """Drop the union tags from Pydantic's location: what follows a tagged union, and what the user's data lacks."""
    path: list[str | int] = []
    whole, tag_follows = data, False
    for index, part in enumerate(location):
        is_last = index == len(location) - 1
        present = (isinstance(data, Mapping) and part in data) or (isinstance(data, list) and isinstance(part, int))
        if tag_follows or not (present or (is_last and last_may_be_absent)):
            tag_follows = False
            continue
        path.append(part)
        data = _child(data, part)
        tag_follows = _is_union(model, tuple(path), whole)
    return tuple(path)


def _is_union(model: type[BaseModel], path: Path, data: Any) -> bool:
    """Tell whether the field at ``path`` holds one of several models."""
    (owners, named), key = _walked(model, path[:-1], data), str(path[-1])
    return not named and any(
        len(_models_in(m.model_fields[key].annotation)) > 1 for m in owners if key in m.model_fields
    )


def _found(value: object) -> str:
    """Say what kind of value stands there, in the words of a YAML file."""
    words = (
        (bool, "true or false"),
        (str, "text"),
        (int, "a whole number"),
        (float, "a number with decimals or beyond 64 bits"),
        (Mapping, "a section with keys"),
        (list, "a list"),
        (date, "a day"),
    )
    return next((said for kind, said in words if isinstance(value, kind)), "nothing (null)")


def _needs(words: str, remedy: str) -> Callable[[object, Mapping[str, Any]], dict[str, str]]:
    """What to say when a value is of another type than needed."""

    def said(value: object, _context: Mapping[str, Any]) -> dict[str, str]:
        hint = remedy
        if isinstance(value, str) and words != "text" and re.fullmatch(r"[0-9.]+|true|false|\d{4}-\d\d-\d\d", value):
            hint = "write it without quotes"
        return {"why": f"{words} is needed here, this is {_found(value)}", "allowed": words, "remedy": hint}

    return said


def _limit(words: str, key: str) -> Callable[[object, Mapping[str, Any]], dict[str, str]]:
    """What to say when a number is outside its limit."""

    def said(_value: object, context: Mapping[str, Any]) -> dict[str, str]:
        bound = context[key]
        limit = f"{words} {bound:g}" if isinstance(bound, float) else f"{words} {bound}"
        return {"why": f"the number must be {limit}", "allowed": limit, "remedy": "write a number in that range"}

    return said


def _empty(_value: object, _context: Mapping[str, Any]) -> dict[str, str]:
    return {"why": "nothing is written here", "allowed": "at least one", "remedy": "write it, or leave the key out"}


def _too_many(_value: object, context: Mapping[str, Any]) -> dict[str, str]:
    most = context["max_length"]
    return {"why": f"there are more than {most}", "allowed": f"at most {most}", "remedy": "leave some out"}


def _choice(value: object, context: Mapping[str, Any]) -> dict[str, str]:
    choices = [quoted or plain for quoted, plain in re.findall(r"'([^']*)'|(\d+)", str(context["expected"]))]
    guess = nearest(value, choices) if isinstance(value, str) else None
    return {
        "why": "this is not one of the values that exist" + (f"; did you mean {guess!r}?" if guess else ""),
        "allowed": ", ".join(choices),
        "remedy": f"write {guess!r}" if guess else "write one of the allowed values",
    }


def _other(_value: object, _context: Mapping[str, Any]) -> dict[str, str]:
    return {"why": "this value cannot stand here", "remedy": "compare it with the schema"}


def _form(_value: object, context: Mapping[str, Any]) -> dict[str, str]:
    return {key: str(context[key]) for key in ("why", "allowed", "remedy")}


_QUOTE = "put it in quotes if it reads like a number: a version 1.30 would become 1.3"
_NUMBER = "write digits only, such as 8"
_SECTION = _needs("a section with keys", "write its keys below it, each on its own line")
_SAY: Mapping[str, Callable[[object, Mapping[str, Any]], dict[str, str]]] = {
    "string_type": _needs("text", _QUOTE),
    "int_type": _needs("a whole number", _NUMBER),
    "float_type": _needs("a number", "write a number, such as 0.9"),
    "finite_number": _needs("a number", "write a number, such as 0.9"),
    "bool_type": _needs("true or false", "write true or false"),
    "date_type": _needs("a day", "write a day as YYYY-MM-DD"),
    "list_type": _needs("a list", "write one item per line, each after a hyphen"),
    "dict_type": _SECTION,
    "model_type": _SECTION,
    "model_attributes_type": _SECTION,
    "greater_than": _limit("greater than", "gt"),
    "greater_than_equal": _limit("at least", "ge"),
    "less_than": _limit("less than", "lt"),
    "less_than_equal": _limit("at most", "le"),
    "literal_error": _choice,
    "string_too_short": _empty,
    "too_short": _empty,
    "too_long": _too_many,
    "form": _form,
}


def unknown_key(key: str, known: Sequence[str], value: Any) -> dict[str, Any]:
    """Return what a problem says about a key that is not one of ``known``."""
    guess = nearest(key, known)
    if guess is None and "." in key:
        return {
            "why": f"there is no key {key!r}: a dotted path is not a key",
            "allowed": ", ".join(known),
            "remedy": "write one section per part, or use pulumi config set --path",
            "value": value,
        }
    return {
        "why": f"there is no key {key!r} here, so it would do nothing"
        + (f"; did you mean {guess!r}?" if guess else ""),
        "allowed": ", ".join(known),
        "remedy": f"rename it to {guess!r}" if guess else "remove it or use one of the allowed keys",
        "value": value,
    }


def _wrong_kind(value: Any, models: Sequence[type[BaseModel]]) -> dict[str, Any]:
    kind, kinds = value.get("kind") if isinstance(value, Mapping) else None, _kinds(models)
    for model in models:
        refused = model.refused_kinds.get(kind) if issubclass(model, Strict) and isinstance(kind, str) else None
        if refused:
            remedy = f"write {_kinds([model])[0]!r}"
            return {**refused._asdict(), "allowed": ", ".join(kinds), "remedy": remedy, "value": kind}
    guess = nearest(kind, kinds) if isinstance(kind, str) else None
    return {
        "why": "this section is chosen by its kind"
        + ("" if kind is None else "; that kind does not exist")
        + (f"; did you mean {guess!r}?" if guess else ""),
        "allowed": ", ".join(kinds),
        "remedy": f"write {guess!r}" if guess else "set kind to one of the allowed words",
        "value": kind,
    }


def _one(error: ErrorDetails, model: type[Strict], data: Any, where: str) -> tuple[Path, Problem]:
    kind, location = error["type"], error["loc"]
    is_key = location[-1:] == ("[key]",)
    path = _user_path(location[:-1] if is_key else location, model, data, last_may_be_absent=kind == "missing")
    value: Any = data
    for part in path:
        value = _child(value, part)
    said: dict[str, Any]
    if kind == "extra_forbidden":
        known = sorted({key for m in _models_at(model, path[:-1], data) for key in m.model_fields})
        rule, said = "unknown-key", unknown_key(str(path[-1]), known, value)
    elif kind == "missing":
        rule = "missing-key"
        said = {"why": "this key is required and has no default", "remedy": f"add {path[-1]}"}
    elif kind in ("union_tag_not_found", "union_tag_invalid"):
        rule, said = "wrong-kind", _wrong_kind(value, _models_at(model, path, {}))
        path = (*path, "kind")
    elif is_key:
        rule = "wrong-key"
        said = _SAY.get(kind, _other)(path[-1], error.get("ctx", {})) | {"value": path[-1]}
    else:
        rule, said = "wrong-value", _SAY.get(kind, _other)(value, error.get("ctx", {})) | {"value": value}
    said = {"source": model.schema_source(), **said}
    problem = Problem(rule=rule, path=dotted(path) or "(top level)", where=where, **said)
    return path, problem


def located_problems(
    error: ValidationError, *, model: type[Strict], data: Any, where: str
) -> list[tuple[Path, Problem]]:
    """Return one problem per finding with its path in parts; ``data`` is what was validated, ``where`` its file."""
    return [_one(found, model, data, where) for found in error.errors(include_url=False, include_input=False)]


def validation_problems(error: ValidationError, *, model: type[Strict], data: Any, where: str) -> list[Problem]:
    """Return one problem per finding; ``data`` is what was validated, ``where`` the file it came from."""
    return [problem for _, problem in located_problems(error, model=model, data=data, where=where)]
