"""Text of a client's configuration: nested keys as JSON, TOML or a call in Python."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stacks.rows import ClientRow

__all__ = ["put", "written"]

Document = dict[str, Any]


def put(document: Document, path: Sequence[str], value: Any) -> None:
    """Write ``value`` under nested keys; ``stacks.catalog_consistency`` makes sure that no two paths meet."""
    *above, last = path
    for key in above:
        document = document.setdefault(key, {})
    document[last] = value


def written(document: Document, row: ClientRow) -> str:
    """Return the file's text."""
    return _WRITERS[row.file.format](document, row)


def _json(document: Document, _row: ClientRow) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _toml(document: Document, _row: ClientRow) -> str:
    return "\n".join(_table(document, ())) + "\n"


def _table(table: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    """One table after the other, each with its own values first."""
    own = [f"{_key(key)} = {_value(value)}" for key, value in table.items() if not isinstance(value, dict)]
    lines = ([f"\n[{'.'.join(map(_key, path))}]"] if path and own else []) + own
    for key, value in table.items():
        if isinstance(value, dict):
            lines += _table(value, (*path, key))
    return lines


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


def _value(value: Any) -> str:
    """JSON's texts, numbers and lists of them are TOML's; with maps, too, Python's."""
    return json.dumps(value)


def _python(document: Document, row: ClientRow) -> str:
    module, _, name = (row.file.call or "").rpartition(".")
    arguments = "".join(f"    {key}={_value(value)},\n" for key, value in document.items())
    return f"from {module} import {name}\n\nclient = {name}(\n{arguments})\n"


_WRITERS: Mapping[str, Callable[[Document, ClientRow], str]] = {"json": _json, "toml": _toml, "python": _python}
