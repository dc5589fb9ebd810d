"""Flags of an argparse parser, told by how the parser itself treats sample values."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["flags_of"]

_SAMPLES = ("7", "0.5", "7k", "x", "{}")
_KINDS = (("x", "text"), ("0.5", "number"), ("7k", "size"), ("7", "integer"), ("{}", "json"))
"""The first sample that a type takes tells what it is."""


def flags_of(actions: Iterable[argparse.Action], documents: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Return the flags of parser actions by name; ``documents`` says which flags take which JSON document."""
    found = {}
    for action in actions:
        names = [name for name in action.option_strings if name.startswith("--")]
        if names and not isinstance(action, argparse._HelpAction | argparse._VersionAction):
            name = names[0].removeprefix("--")
            found[name] = _flag(action, names[0], documents.get(name))
    return dict(sorted(found.items()))


def _flag(action: argparse.Action, name: str, document: str | None) -> dict[str, Any]:
    others = [other for other in action.option_strings if other != name]
    boolean = isinstance(action, argparse.BooleanOptionalAction)
    off = [other for other in others if boolean and other.startswith(("--no-", "--disable-"))]
    flag: dict[str, Any] = {"kind": "switch" if action.nargs == 0 else _kind(action.type)}
    if document:
        flag |= {"kind": "json", "document": document}
    if action.choices is not None:
        flag |= {"kind": "text", "choices": sorted(str(choice) for choice in action.choices if choice is not None)}
    if action.nargs == "?":
        flag["values"] = "optional"
    elif action.nargs not in (None, 0) or isinstance(action, argparse._AppendAction):
        flag["values"] = "many"
    if aliases := sorted(set(others) - set(off)):
        flag["aliases"] = aliases
    if off:
        flag["off"] = sorted(off)
    return flag


def _kind(convert: Callable[[str], Any] | None) -> str:
    if convert is None:
        return "text"
    taken = {sample for sample in _SAMPLES if _takes(convert, sample)}
    return next((kind for sample, kind in _KINDS if sample in taken), "text")


def _takes(convert: Callable[[str], Any], sample: str) -> bool:
    try:
        convert(sample)
    except Exception:  # noqa: BLE001 - a type may refuse in any way
        return False
    return True
