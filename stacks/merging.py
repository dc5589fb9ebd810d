"""How presets and overrides are put together: one deterministic rule, and a record of who set what.

Mappings merge key by key; anything else replaces. Two kinds of mapping replace whole: one whose ``kind`` changes, as
keys of another kind would mean nothing, and a line of ``evidence``, which is one statement with its source.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["REMOVABLE", "Origins", "difference", "merge", "origin_of", "removable", "without"]

Path = tuple[str | int, ...]
Origins = dict[Path, str]
"""Path -> the file that last set it; the empty path is the file that speaks for everything nobody set."""


REMOVABLE = "accelerator_pools"
"""The section whose keys are names of the user's own, each of which null removes."""


def removable(data: Mapping[str, Any]) -> dict[str, bool]:
    """Return the names in that section, and of each whether something is there; false: it is removed."""
    section = data.get(REMOVABLE)
    return {name: value is not None for name, value in section.items()} if isinstance(section, Mapping) else {}


def merge(
    base: Mapping[str, Any], over: Mapping[str, Any], origins: Origins, origin: str, at: Path = ()
) -> dict[str, Any]:
    """Return ``over`` laid on ``base``; ``origins`` learns which paths ``origin`` set."""
    merged = dict(base)
    for key, value in over.items():
        path = (*at, key)
        old = merged.get(key)
        if isinstance(value, Mapping) and isinstance(old, Mapping) and not _replaces(old, value, path):
            merged[key] = merge(old, value, origins, origin, path)
            continue
        for below in [p for p in origins if p[: len(path)] == path]:
            del origins[below]
        origins[path] = origin
        merged[key] = merge({}, value, origins, origin, path) if isinstance(value, Mapping) else value
    return merged


def _replaces(old: Mapping[str, Any], new: Mapping[str, Any], path: Path) -> bool:
    changes_kind = "kind" in old and "kind" in new and old["kind"] != new["kind"]
    return changes_kind or (len(path) > 1 and path[0] == "evidence")


def difference(base: Mapping[str, Any], wanted: Mapping[str, Any], at: Path = ()) -> dict[str, Any]:
    """Return the least that, laid on ``base``, gives ``wanted``, itself something laid on ``base``."""
    changed: dict[str, Any] = {}
    for key, value in wanted.items():
        old, path = base.get(key), (*at, key)
        if key in base and old == value:
            continue
        if isinstance(value, Mapping) and isinstance(old, Mapping) and not _replaces(old, value, path):
            changed[key] = difference(old, value, path)
        else:
            changed[key] = value
    return changed


def origin_of(path: Path, origins: Origins) -> str:
    """Return the file that set ``path``, or the nearest section above it."""
    while path and path not in origins:
        path = path[:-1]
    return origins.get(path, "")


def without(data: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return ``data`` less the key at ``path``; unchanged when there is none."""
    if not path or path[0] not in data:
        return dict(data)
    copy = dict(data)
    key = str(path[0])
    if len(path) == 1:
        del copy[key]
    elif isinstance(copy[key], Mapping):
        copy[key] = without(copy[key], path[1:])
    return copy
