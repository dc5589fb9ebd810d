"""Which inputs of a resource differ, and whether that means a new resource."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from beamline.sandbox.cloud.tables import table

__all__ = ["Changes", "changes", "defaults_of"]

_MISSING = object()


@dataclass(frozen=True)
class Changes:
    """Paths of the inputs that differ; ``replaces`` are those that cannot be changed in place."""

    added: list[str]
    removed: list[str]
    changed: list[str]
    replaces: list[str]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


@dataclass(frozen=True)
class _Rules:
    replace: tuple[str, ...]
    defaults: Mapping[str, Any]
    unordered: tuple[str, ...]


@cache
def _rules(kind: str) -> _Rules:
    row = table("properties.yaml")[kind]
    return _Rules(tuple(row["replace"]), row.get("defaults", {}), tuple(row.get("unordered", [])))


def changes(kind: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Changes:
    """Compare the recorded inputs of a resource with those asked for now. An unknown value counts as different."""
    rules = _rules(kind)
    before, after = _flat(old, rules), _flat(new, rules)
    added = sorted(path for path in after if path not in before and after[path] != rules.defaults.get(path, _MISSING))
    removed = sorted(
        path for path in before if path not in after and before[path] != rules.defaults.get(path, _MISSING)
    )
    changed = sorted(path for path in after if path in before and before[path] != after[path])
    touched = sorted({*added, *removed, *changed})
    return Changes(added, removed, changed, [path for path in touched if _replaces(path, rules.replace)])


def defaults_of(kind: str) -> dict[str, Any]:
    """Return what inputs of a resource mean when they are left out, for those that are no part of a block."""
    return {path: value for path, value in _rules(kind).defaults.items() if "." not in path}


def _replaces(path: str, rules: tuple[str, ...]) -> bool:
    """Tell whether a path is, lies in, or (as a whole block that came or went) contains one that cannot change."""
    plain = path.replace("[", ".[")
    return any(plain == rule or plain.startswith((f"{rule}.", f"{rule}[")) for rule in rules)


def _flat(value: object, rules: _Rules, path: str = "") -> dict[str, object]:
    """Return leaf paths and values; an empty block counts as absent."""
    if isinstance(value, Mapping):
        out: dict[str, object] = {}
        for key, item in value.items():
            out |= _flat(item, rules, f"{path}.{key}" if path else str(key))
        return out
    if isinstance(value, list):
        items = sorted(value, key=repr) if path in rules.unordered else value
        out = {}
        for index, item in enumerate(items):
            out |= _flat(item, rules, f"{path}[{index}]")
        return out
    return {path: value}
