"""A client's configuration, read back as the client itself reads it."""

from __future__ import annotations

import ast
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stacks.clients import ClientSettings
from stacks.rows import ClientRow

__all__ = ["at", "headers_in", "parsed"]


def parsed(settings: ClientSettings, row: ClientRow) -> dict[str, Any]:
    """What the text says."""
    return _PARSERS[row.file.format](settings.content)


def _python(text: str) -> dict[str, Any]:
    """Keyword arguments of the one call in a program."""
    (call,) = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}


_PARSERS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "json": json.loads,
    "toml": tomllib.loads,
    "python": _python,
}


def at(document: Mapping[str, Any], path: Sequence[str], model: str = "") -> Any:
    """Value under nested keys; None where there is none."""
    found: Any = document
    for key in path:
        found = found.get(key.replace("{model}", model)) if isinstance(found, Mapping) else None
    return found


def headers_in(document: Mapping[str, Any], row: ClientRow) -> dict[str, str]:
    """Headers that the client is told to send."""
    found = at(document, row.headers.path) if row.headers.path else None
    if isinstance(found, str):
        return dict(line.split(": ", 1) for line in found.splitlines())
    return dict(found or {})
