"""The captured graph: what a program registered, in the order of its URNs.

One shape for both drivers: the in-process engine fills it from the requests it receives, the tests fill it from the
real engine's own log, and policies, golden files and schema checks read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal

from beamline.engine.values import Value, value_to_json

__all__ = ["Alias", "Graph", "Invoke", "Log", "Read", "Resource", "Severity"]

Severity = Literal["info", "warning", "error"]


@dataclass(frozen=True)
class Alias:
    """One former identity of a resource: a whole URN, or the parts that were different."""

    urn: str = ""
    name: str = ""
    type: str = ""
    stack: str = ""
    project: str = ""
    parent_urn: str = ""
    no_parent: bool = False


@dataclass(frozen=True, kw_only=True)
class Resource:
    """One registered resource as its request described it.

    ``None`` means "not said" where the engine tells that apart from ``False``. ``provider`` and ``providers`` hold
    the provider's URN: the id behind it is made up anew by each engine. ``custom_timeouts`` are Go durations
    ("60m"). ``registered_outputs`` is ``None`` when a component never called ``register_outputs``. The source
    position is left out, because it differs from machine to machine.
    """

    urn: str
    type: str
    name: str
    parent: str = ""
    inputs: Mapping[str, Value] = field(default_factory=dict)
    registered_outputs: Mapping[str, Value] | None = None
    custom: bool = True
    dependencies: tuple[str, ...] = ()
    property_dependencies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    provider: str = ""
    providers: Mapping[str, str] = field(default_factory=dict)
    protect: bool | None = None
    ignore_changes: tuple[str, ...] = ()
    replace_on_changes: tuple[str, ...] = ()
    delete_before_replace: bool | None = None
    deleted_with: str = ""
    retain_on_delete: bool | None = None
    additional_secret_outputs: tuple[str, ...] = ()
    aliases: tuple[Alias, ...] = ()
    custom_timeouts: Mapping[str, str] = field(default_factory=dict)
    import_id: str = ""
    version: str = ""
    plugin_download_url: str = ""

    def to_json(self) -> dict[str, object]:
        """Return the resource as JSON-ready data, secrets hidden, keys in declaration order."""
        return _to_json(self)


@dataclass(frozen=True, kw_only=True)
class Read:
    """One existing cloud resource that the program looked up by id (``SomeResource.get``)."""

    urn: str
    type: str
    name: str
    id: Value
    parent: str = ""
    inputs: Mapping[str, Value] = field(default_factory=dict)
    provider: str = ""


@dataclass(frozen=True, kw_only=True)
class Invoke:
    """One data lookup; answered as unknown, because a plan asks no cloud."""

    token: str
    args: Mapping[str, Value] = field(default_factory=dict)
    provider: str = ""


@dataclass(frozen=True)
class Log:
    """One message of the program, through Pulumi's log or printed."""

    severity: Severity
    message: str
    urn: str = ""


@dataclass(frozen=True, kw_only=True)
class Graph:
    """Everything one run of a program registered; ``resources`` and ``reads`` are sorted by URN."""

    resources: tuple[Resource, ...]
    outputs: Mapping[str, Value]
    reads: tuple[Read, ...] = ()
    invokes: tuple[Invoke, ...] = ()
    logs: tuple[Log, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return the whole graph as JSON-ready data, secrets hidden."""
        return _to_json(self)


def _to_json(record: object) -> dict[str, object]:
    return {f.name: _plain(getattr(record, f.name)) for f in fields(record)}  # type: ignore[arg-type]


def _plain(value: object) -> object:
    if isinstance(value, Resource | Read | Invoke | Log | Alias):
        return _to_json(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value_to_json(value)  # type: ignore[arg-type]
