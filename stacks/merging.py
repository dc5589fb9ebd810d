"""How presets and overrides are put together: one deterministic rule, and a record of who set what.

Mappings merge key by key; anything else replaces. A mapping whose ``kind`` changes replaces the old one whole: keys of
another kind would mean nothing. ``evidence`` does not pass through ``extends`` blindly; see ``stacks.evidence``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["Origins", "merge", "origin_of", "without"]

Path = tuple[str, ...]
Origins = dict[Path, str]
"""Path -> the file that last set it."""


def merge(
    base: Mapping[str, Any], over: Mapping[str, Any], origins: Origins, origin: str, at: Path = ()
) -> dict[str, Any]:
    """Return ``over`` laid on ``base``; ``origins`` learns which paths ``origin`` set."""
    if "kind" in over and "kind" in base and over["kind"] != base["kind"]:
        base = {}
    merged = dict(base)
    for key, value in over.items():
        path = (*at, str(key))
        old = merged.get(key)
        if isinstance(value, Mapping):
            origins.setdefault(path, origin)
            merged[key] = merge(old if isinstance(old, Mapping) else {}, value, origins, origin, path)
        else:
            merged[key] = value
            origins[path] = origin
    return merged


def origin_of(path: Path, origins: Origins) -> str:
    """Return the file that set ``path``, or the nearest section above it."""
    while path:
        if path in origins:
            return origins[path]
        path = path[:-1]
    return ""


def without(data: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return ``data`` less the key at ``path``; unchanged when there is none."""
    if not path or path[0] not in data:
        return dict(data)
    copy = dict(data)
    if len(path) == 1:
        del copy[path[0]]
    elif isinstance(copy[path[0]], Mapping):
        copy[path[0]] = without(copy[path[0]], path[1:])
    return copy
