"""Captured resources of two stacks, matched by what they are in the kit, and what each has other than its match.

A resource is its kind and its name in the kit without the stack's: ``Deployment serving-engine``. The name that an
object has in the cluster may carry a hash of its content (``manifests.naming``); it follows from the content, so where
matched objects differ by it alone, both are read as ``<hash>``, wherever they are mentioned.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from beamline.comparison.alike import pairs
from beamline.comparison.differences import differences
from beamline.comparison.model import Change, Difference, Opaque

if TYPE_CHECKING:
    from beamline.engine.graph import Graph, Resource
    from beamline.engine.values import Value

__all__ = ["ResourceChange", "compare_resources"]

_KUBERNETES = "kubernetes:"
_PROVIDERS = "pulumi:providers:"
_VERSION = re.compile(r"v[0-9]+((alpha|beta)[0-9]+)?")
_CONTENT_NAME = re.compile(r"(?P<name>.+)-[0-9a-f]{10}")
_ANY_HASH = "<hash>"


@dataclass(frozen=True)
class ResourceChange:
    """What became of one resource. ``old_name`` is another than ``name`` where it takes the place of a like one."""

    type: str
    name: str
    old_name: str
    change: Change
    differences: tuple[Difference, ...] = ()

    @property
    def is_kubernetes(self) -> bool:
        """Whether it is an object in the cluster, or a release that installs some."""
        return self.type.startswith(_KUBERNETES)

    @property
    def kind(self) -> str:
        """What people call it: ``Deployment``, ``HelmRelease``, ``gcp.container.NodePool``."""
        package, module, name = self.type.split(":")
        if self.is_kubernetes:
            return "HelmRelease" if module.startswith("helm.sh/") else name
        return ".".join((package, module.partition("/")[0], name))


@dataclass(frozen=True)
class _Key:
    """What makes two resources one: the kind without its API version, and the name without the stack's."""

    kind: str
    name: str


_Found = dict[_Key, tuple[str, dict[str, Any]]]
"""Resource -> its type, and what it holds."""


def compare_resources(old: Graph, new: Graph) -> tuple[list[ResourceChange], int]:
    """Return every resource that differs, by kind and name, and how many do not.

    Compared are the properties a resource is created with, and whether Pulumi protects it. Components and providers are
    no resources of anybody's.
    """
    before, after = _found(old), _found(new)
    before, after = _without_hashes(before, after)
    changes = _changes(before, after)
    changed = sum(1 for change in changes if change.change == "changed")
    return changes, len(before.keys() & after.keys()) - changed


def _changes(before: _Found, after: _Found) -> list[ResourceChange]:
    changes = []
    replaced = list(_replaced(before, after))
    for key in sorted({*before, *after}, key=_order):
        if any(key in pair for pair in replaced):
            continue
        kind = (after.get(key) or before[key])[0]
        if key not in before or key not in after:
            changes.append(ResourceChange(kind, key.name, key.name, "added" if key in after else "removed"))
        elif found := differences(before[key][1], after[key][1]):
            changes.append(ResourceChange(kind, key.name, key.name, "changed", tuple(found)))
    for was, now in replaced:
        found = differences(before[was][1], after[now][1])
        changes.append(ResourceChange(after[now][0], now.name, was.name, "replaced", tuple(found)))
    return sorted(changes, key=lambda change: (change.kind, change.name, change.old_name))


def _replaced(before: _Found, after: _Found) -> Iterable[tuple[_Key, _Key]]:
    """Yield large objects of one kind of which one takes the place of the other."""
    for kind in sorted({key.kind for key in before}):
        gone = {key.name: found[1] for key, found in before.items() if key.kind == kind and key not in after}
        come = {key.name: found[1] for key, found in after.items() if key.kind == kind and key not in before}
        yield from ((_Key(kind, was), _Key(kind, now)) for was, now in pairs(gone, come))


def _order(key: _Key) -> tuple[str, str]:
    return key.kind, key.name


def _found(graph: Graph) -> _Found:
    stack = next(resource.urn.split("::")[0].rpartition(":")[2] for resource in graph.resources)
    return {
        _Key(_versionless(resource.type), resource.name.removeprefix(f"{stack}-")): (resource.type, _held(resource))
        for resource in graph.resources
        if resource.custom and not resource.type.startswith(_PROVIDERS)
    }


def _versionless(token: str) -> str:
    package, module, name = token.split(":")
    return ":".join((package, "/".join(part for part in module.split("/") if not _VERSION.fullmatch(part)), name))


def _held(resource: Resource) -> dict[str, Any]:
    protect = {"(protect)": True} if resource.protect else {}
    return {**{key: _plain(value) for key, value in resource.inputs.items()}, **protect}


def _plain(value: Value) -> Any:
    from beamline.engine.values import Secret, Unknown  # noqa: PLC0415 - Pulumi takes a second to import

    if isinstance(value, Secret):
        return Opaque("secret", value.value)
    if isinstance(value, Unknown):
        return Opaque("unknown")
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _without_hashes(before: _Found, after: _Found) -> tuple[_Found, _Found]:
    """Return both sides with one name for each object whose two names differ by a hash of its content."""
    old_names: dict[str, str] = {}
    new_names: dict[str, str] = {}
    for key in before.keys() & after.keys():
        was, now = (_CONTENT_NAME.fullmatch(_object_name(side[key][1])) for side in (before, after))
        if was and now and was["name"] == now["name"] and was[0] != now[0]:
            old_names[was[0]] = new_names[now[0]] = f"{was['name']}-{_ANY_HASH}"
    return _renamed(before, old_names), _renamed(after, new_names)


def _object_name(held: Mapping[str, Any]) -> str:
    metadata = held.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) else ""


def _renamed(found: _Found, names: Mapping[str, str]) -> _Found:
    if not names:
        return found
    longest_first: Sequence[str] = sorted(names, key=lambda name: (-len(name), name))
    pattern = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, longest_first))})(?![\w-])")
    return {key: (kind, _substituted(held, pattern, names)) for key, (kind, held) in found.items()}


def _substituted(value: Any, pattern: re.Pattern[str], names: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return pattern.sub(lambda match: names[match[1]], value)
    if isinstance(value, Mapping):
        return {key: _substituted(item, pattern, names) for key, item in value.items()}
    return [_substituted(item, pattern, names) for item in value] if isinstance(value, list) else value
