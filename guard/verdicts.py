"""What would become of each resource that is in the table: created, left, updated, replaced, deleted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from guard.comparing import PropertyChange, changes
from guard.table import PropertiesRow, table

__all__ = ["Operation", "Recorded", "Verdict", "Wanted", "judge_all"]

Operation = Literal["create", "same", "update", "may-replace", "replace", "delete"]
_RANK: Mapping[str, int] = {"update": 1, "may-replace": 2, "replace": 3}


@dataclass(frozen=True)
class Recorded:
    """A resource in a stack's state. ``inputs`` are None where only outputs can be read; secrets are ``UNKNOWN``."""

    urn: str
    outputs: Mapping[str, Any]
    inputs: Mapping[str, Any] | None = None
    id: str = ""
    protected: bool = False

    @property
    def type(self) -> str:
        """Its type token."""
        return _type_of(self.urn)


@dataclass(frozen=True)
class Wanted:
    """A resource as the program asks for it; ``aliases`` are URNs that it may be recorded under."""

    urn: str
    inputs: Mapping[str, Any]
    ignored: Sequence[str] = ()
    aliases: Sequence[str] = ()

    @property
    def type(self) -> str:
        """Its type token."""
        return _type_of(self.urn)


@dataclass(frozen=True)
class Verdict:
    """What would become of one resource. ``cause`` is the URN of another one that takes it along."""

    urn: str
    operation: Operation
    changes: Sequence[PropertyChange] = field(default_factory=tuple)
    cause: str = ""

    @property
    def name(self) -> str:
        """The resource's name in the program."""
        return self.urn.rpartition("::")[2]

    @property
    def type(self) -> str:
        """Its type token."""
        return _type_of(self.urn)

    @property
    def destroys(self) -> bool:
        """Whether what is there now would be, or may be, gone afterwards."""
        return self.operation in ("may-replace", "replace", "delete")


def _judge(recorded: Recorded | None, wanted: Wanted) -> Verdict:
    """Return what would become of one resource of a type in the table, by its own properties."""
    if recorded is None:
        return Verdict(wanted.urn, "create")
    found = changes(
        table().types[wanted.type],
        recorded.outputs,
        wanted.inputs,
        ignored=wanted.ignored,
        written=recorded.inputs,
    )
    if not found:
        return Verdict(wanted.urn, "same")
    return Verdict(wanted.urn, max((change.effect for change in found), key=_RANK.__getitem__), tuple(found))


def judge_all(recorded: Iterable[Recorded], wanted: Iterable[Wanted], *, complete: bool = True) -> list[Verdict]:
    """Return what would become of every resource of a type in the table, by URN.

    What is recorded and not asked for any more is deleted, once ``wanted`` is ``complete``. What lives in a resource
    that goes, goes with it.
    """
    types = table().types
    before = {resource.urn: resource for resource in recorded if resource.type in types}
    asked = {resource.urn: resource for resource in wanted if resource.type in types}
    found: dict[str, Verdict] = {}
    kept: dict[str, str] = {}
    for urn, resource in asked.items():
        was = next((name for name in (urn, *resource.aliases) if name in before), "")
        found[urn] = _judge(before.get(was), resource)
        kept[was] = urn
    for urn in before.keys() - kept.keys():
        found[urn] = Verdict(urn, "delete" if complete else "same")
    _take_along(before, kept, found)
    return [found[urn] for urn in sorted(found)]


def _take_along(before: Mapping[str, Recorded], kept: Mapping[str, str], found: dict[str, Verdict]) -> None:
    """Mark what lives inside something that is, or may be, replaced, until nothing more is found."""
    for fate in ("replace", "may-replace"):
        while taken := list(_taken(before, kept, found, fate)):
            for urn, cause in taken:
                found[urn] = replace(found[urn], operation=fate, cause=cause)


def _taken(
    before: Mapping[str, Recorded], kept: Mapping[str, str], found: Mapping[str, Verdict], fate: Operation
) -> Iterator[tuple[str, str]]:
    """Yield what would go with something of that fate, and what it would go with."""
    going = [urn for urn in before if found[kept.get(urn, urn)].operation == fate]
    milder = {"same", "update", *(name for name, rank in _RANK.items() if rank < _RANK[fate])}
    for urn, resource in before.items():
        row, name = table().types[resource.type], kept.get(urn, urn)
        outer = next((outer for outer in going if _is_inside(row, resource, before[outer])), None)
        if outer is not None and found[name].operation in milder:
            yield name, kept.get(outer, outer)


def _is_inside(row: PropertiesRow, inner: Recorded, outer: Recorded) -> bool:
    names = [prop for prop, type_token in row.inside.items() if type_token == outer.type]
    place = _last(outer.outputs.get("name"))
    return any(place and _last(inner.outputs.get(name)) == place for name in names)


def _last(value: object) -> str:
    return value.rpartition("/")[2] if isinstance(value, str) else ""


def _type_of(urn: str) -> str:
    return urn.split("::")[2].rpartition("$")[2] if urn.count("::") >= 3 else ""  # noqa: PLR2004 - urn:pulumi:stack::project::type::name
