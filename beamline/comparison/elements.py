"""What names the elements of a list, so that they are compared by name and not by their place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["Named", "by_name"]

Named = dict[str, Any]
"""Name of an element -> what it holds besides its name."""

_Fields = Callable[[Mapping[str, Any]], tuple[str, ...]]

_NAMED_BY: tuple[_Fields, ...] = (
    lambda _: ("name",),
    lambda element: ("name",) if "name" in element else ("type",),
    lambda _: ("pluginRef",),
    lambda _: ("mountPath",),
    lambda _: ("topologyKey",),
    lambda _: ("key",),
    lambda _: ("key", "effect"),
    lambda _: ("rangeName",),
    lambda _: ("containerPort", "protocol"),
    lambda _: ("port", "protocol"),
    lambda _: ("port",),
    lambda _: ("priority",),
)
"""Fields that can name an element, tried in this order: the first that names all elements, each once, on both sides."""


def by_name(old: Sequence[Any], new: Sequence[Any]) -> tuple[Named, Named] | None:
    """Return both lists by name, in their order; None where nothing names their elements."""
    if not all(isinstance(element, Mapping) for element in (*old, *new)):
        return None
    for fields in _NAMED_BY:
        named = _named(old, fields), _named(new, fields)
        if named[0] is not None and named[1] is not None:
            return named[0], named[1]
    return None


def _named(elements: Sequence[Mapping[str, Any]], fields: _Fields) -> Named | None:
    found: Named = {}
    for element in elements:
        keys = fields(element)
        values = [element.get(key) for key in keys]
        name = "/".join(str(value) for value in values)
        if name in found or not all(isinstance(value, str | int) for value in values):
            return None
        found[name] = _rest({key: value for key, value in element.items() if key not in keys})
    return found


def _rest(element: dict[str, Any]) -> Any:
    """A variable is its value: ``{name, value}`` is nothing more."""
    return element["value"] if list(element) == ["value"] else element
