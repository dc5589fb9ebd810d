"""What Pulumi exports as a stack's state: read, judged, and put into the order the engine wants."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stacks.problems import Problem, ProblemsFound
from stacks.pulumi_state import SIGNATURE, STATE_VERSIONS

__all__ = ["Operation", "Resource", "State", "in_order", "is_secret", "read_state"]

Resource = Mapping[str, Any]
"""One resource as the state writes it."""

_HIDDEN = "[secret]"
"""What a preview shows of one."""


@dataclass(frozen=True)
class Operation:
    """One operation that was begun and not ended."""

    kind: str
    """creating, updating, deleting, reading or importing."""
    resource: Resource

    @property
    def urn(self) -> str:
        """Whose operation it is."""
        return str(self.resource["urn"])


@dataclass(frozen=True)
class State:
    """The exported state of one stack; never changed in place."""

    document: Mapping[str, Any]

    @property
    def resources(self) -> list[Resource]:
        """Everything the engine knows, in its order."""
        return list(self.document["deployment"].get("resources") or [])

    @property
    def operations(self) -> list[Operation]:
        """What was begun and not ended."""
        found = self.document["deployment"].get("pending_operations") or []
        return [Operation(each["type"], each["resource"]) for each in found]

    def live(self, urn: str) -> Resource | None:
        """Return the resource of that name that is neither gone nor to be deleted."""
        found = (each for each in self.resources if each["urn"] == urn)
        return next((each for each in found if not (each.get("delete") or each.get("pendingReplacement"))), None)

    def knows(self, kind: str, resource_id: str) -> bool:
        """Tell whether a resource of that type and id is in the state; one deleted for its replacement is not there."""
        found = (each for each in self.resources if each["type"] == kind and each.get("id") == resource_id)
        return any(not each.get("pendingReplacement") for each in found)

    def provider_of(self, resource: Resource) -> Mapping[str, Any] | None:
        """Return the settings of the provider a resource names; None where the state does not have it."""
        urn, _, provider_id = str(resource.get("provider", "")).rpartition("::")
        for each in self.resources:
            if each["urn"] == urn and each.get("id") == provider_id:
                return each.get("inputs") or {}
        return None

    def is_like(self, other: State) -> bool:
        """Tell whether another state holds the same."""
        return (self.resources, self.operations) == (other.resources, other.operations)

    def of(self, resources: list[Resource]) -> State:
        """Return the state with these resources and nothing pending: the engine takes no pending operations from us."""
        deployment = {**self.document["deployment"], "resources": in_order(resources), "pending_operations": []}
        return State({**self.document, "deployment": deployment})


def read_state(text: str, stack: str, project: str) -> State:
    """Read what ``pulumi stack export`` wrote.

    Raises ProblemsFound for a state in a format that is not known, or one that belongs to another project or stack.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or document.get("version") not in STATE_VERSIONS:
        raise ProblemsFound([_unknown_format(document, stack)])
    if not isinstance(document.get("deployment"), dict):
        return State({**document, "deployment": {}})
    state = State(document)
    for resource in [*state.resources, *(each.resource for each in state.operations)]:
        found_stack, found_project = str(resource["urn"]).removeprefix("urn:pulumi:").split("::")[:2]
        if (found_stack, found_project) != (stack, project):
            raise ProblemsFound([_foreign(stack, project, f"{found_project}/{found_stack}")])
    return state


def in_order(resources: list[Resource]) -> list[Resource]:
    """Return the resources so that each comes after what it refers to; those in order already stay where they are.

    The engine takes no state in which a resource refers to a later one.
    """
    places: dict[str, list[int]] = {}
    for index, each in enumerate(resources):
        places.setdefault(str(each["urn"]), []).append(index)
    done: dict[int, None] = {}
    for start in range(len(resources)):
        waiting = [start]
        while waiting:
            index = waiting[-1]
            first = [place for urn in _needs(resources[index]) for place in places.get(urn, []) if place not in done]
            first = [place for place in first if place not in waiting]  # a circle is the engine's to complain about
            if index in done or not first:
                done[index] = None
                waiting.pop()
            else:
                waiting.extend(first[:1])
    return [resources[index] for index in done]


def is_secret(value: Any) -> bool:
    """Tell whether there is a secret in a value, as a state or a preview writes it."""
    if isinstance(value, Mapping):
        return SIGNATURE in value or any(is_secret(each) for each in value.values())
    if isinstance(value, list):
        return any(is_secret(each) for each in value)
    return bool(value == _HIDDEN)


def _needs(resource: Resource) -> Iterator[str]:
    yield from filter(None, [resource.get("parent"), resource.get("deletedWith")])
    yield from resource.get("dependencies") or []
    for urns in (resource.get("propertyDependencies") or {}).values():
        yield from urns or []
    if provider := resource.get("provider"):
        yield str(provider).rpartition("::")[0]


def _unknown_format(document: Any, stack: str) -> Problem:
    found = document.get("version") if isinstance(document, dict) else None
    return Problem(
        rule="state-format",
        path=f"state of {stack}",
        value=found,
        why="the exported state has no format that is known here"
        if found is None
        else f"the exported state has format {found}",
        allowed=f"formats {', '.join(map(str, STATE_VERSIONS))}",
        remedy="export it with the Pulumi that wrote it, or update Pulumi; nothing was changed",
        source="pulumi stack export",
    )


def _foreign(stack: str, project: str, found: str) -> Problem:
    return Problem(
        rule="foreign-state",
        path=f"state of {stack}",
        value=found,
        why=f"its resources belong to {found}, not to {project}/{stack}: it was imported from, or renamed in, "
        "another place",
        allowed=f"{project}/{stack}",
        remedy="run this in the checkout of that project; nothing was changed",
        source="pulumi stack export",
    )
