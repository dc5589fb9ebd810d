"""Enters what an interrupted create may have left into a state, and concludes from what the engine then read.

Two steps, because either can be interrupted. The engine takes no pending operations from us; so while the answer is
out, each resource in doubt carries a mark that the engine's own refresh clears, and a second recovery looks again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from beamline.recovery.agreement import Agreement, agreement
from beamline.recovery.findings import IN_DOUBT, PLANNED, Lookup
from beamline.recovery.identities import RELEASE
from beamline.recovery.state import Resource, State

__all__ = ["Conclusion", "concluded", "entered", "withdrawn"]

_INTERRUPTED = "Helm was interrupted, so not all that the chart installs may be there"
"""As the engine keeps why a resource is not ready; one with such a reason is updated by the next run."""
_MANAGER = "pulumi-kubernetes"
"""What the field managers of Pulumi's Kubernetes provider begin with."""


@dataclass(frozen=True)
class Conclusion:
    """The state after everything was looked up, and what was found."""

    state: State
    taken_over: tuple[Lookup, ...]
    absent: tuple[Lookup, ...]
    foreign: tuple[Lookup, ...]
    """What exists and is not what this stack asked for."""


def entered(state: State, found: Sequence[Lookup]) -> State:
    """Return the state with everything that has to be looked up in it, and what is in doubt marked as such."""
    doubtful = {operation.urn for operation in state.operations} - {lookup.urn for lookup in found}
    resources = [_in_doubt(each) if each["urn"] in doubtful else each for each in state.resources]
    for lookup in found:
        if state.knows(str(lookup.resource["type"]), lookup.identity.id):
            continue  # a recovery that was interrupted had entered it
        resources = [_made_way(each, lookup) for each in resources if not _is_deleted_before(each, lookup)]
        outputs, mark = _outputs(lookup.resource), PLANNED if lookup.is_planned else IN_DOUBT
        resources.append({**lookup.resource, "id": lookup.identity.id, "outputs": outputs, "initErrors": [mark]})
    return state.of(_without_loose_ends(resources))


def concluded(before: State, after: State, found: Sequence[Lookup]) -> Conclusion:
    """Return what was found. ``before`` was exported before anything was entered, ``after`` when all had been read."""
    there = {(each["urn"], each.get("id")): each for each in after.resources if not each.get("delete")}
    resources = {id(each): each for each in after.resources}
    lists: dict[str, list[Lookup]] = {"taken_over": [], "absent": [], "foreign": []}
    for lookup in found:
        resource = there.get((lookup.urn, lookup.identity.id))
        if resource is None:
            lists["absent"].append(lookup)
        elif not _is_ours(lookup, resource):
            lists["foreign"].append(lookup)
            del resources[id(resource)]
        else:
            lists["taken_over"].append(lookup)
            resources[id(resource)] = _owned(resource)
    nothing = {lookup.urn for lookup in (*lists["absent"], *lists["foreign"])}
    kept = [*_as_before(resources.values(), before, nothing), *_deleted_before(before, nothing)]
    state = after.of(_without_loose_ends(_to_be_repaired(each) for each in kept))
    return Conclusion(state, **{name: tuple(each) for name, each in lists.items()})


def withdrawn(before: State, now: State, found: Sequence[Lookup]) -> State:
    """Return the state without what was entered only because the program is about to create it, read or not.

    What was pending stays in it.
    """
    entered_for = {(lookup.urn, lookup.identity.id) for lookup in found if lookup.is_planned}
    kept = [each for each in now.resources if each.get("delete") or (each["urn"], each.get("id")) not in entered_for]
    nothing = {urn for urn, _ in entered_for}
    return now.of(_without_loose_ends([*_as_before(kept, before, nothing), *_deleted_before(before, nothing)]))


def _in_doubt(resource: Resource) -> Resource:
    """Nothing is in doubt about what is in no cloud, or is to be deleted whatever became of it."""
    is_no_thing = not resource.get("custom") or str(resource["type"]).startswith("pulumi:")
    if is_no_thing or resource.get("delete") or resource.get("pendingReplacement"):
        return resource
    return {**resource, "initErrors": [IN_DOUBT]}


def _made_way(resource: Resource, lookup: Lookup) -> Resource:
    """A replacement that is made before the old one goes marks the old one, as the engine would have."""
    return {**resource, "delete": True} if resource["urn"] == lookup.urn else resource


def _is_deleted_before(resource: Resource, lookup: Lookup) -> bool:
    """The old one is gone already; it stands in the state only until its replacement does."""
    return bool(resource["urn"] == lookup.urn and resource.get("pendingReplacement"))


def _as_before(resources: Iterable[Resource], before: State, nothing: set[str]) -> Iterable[Resource]:
    """Take back the marks of old ones for which no replacement was found."""
    live = {(each["urn"], each.get("id")) for each in before.resources if not each.get("delete")}
    for each in resources:
        if each["urn"] in nothing and each.get("delete") and (each["urn"], each.get("id")) in live:
            yield {key: value for key, value in each.items() if key != "delete"}
        else:
            yield each


def _deleted_before(before: State, nothing: set[str]) -> list[Resource]:
    return [each for each in before.resources if each.get("pendingReplacement") and each["urn"] in nothing]


def _outputs(resource: Resource) -> dict[str, Any]:
    """Return what the provider must know of a resource to read it."""
    inputs = dict(resource.get("inputs") or {})
    kind = str(resource["type"])
    if kind == RELEASE:
        return {**inputs, "__inputs": inputs}
    if kind.startswith("kubernetes:"):
        return {**inputs, "__initialApiVersion": inputs.get("apiVersion")}
    return inputs


def _is_ours(lookup: Lookup, resource: Resource) -> bool:
    """Tell whether what was found is what this stack asked for, as far as that can be seen.

    A create that the state calls pending was ours. Of a Kubernetes object it is known that a Pulumi applied it, not
    whose, so its labels have to be those asked for, or all of it where none were. What is only planned has to be as it
    was asked for in all that can be compared, and something has to be comparable.
    """
    kind, asked = str(resource["type"]), lookup.resource.get("inputs") or {}
    outputs = resource.get("outputs") or {}
    is_object = kind.startswith("kubernetes:") and kind != RELEASE
    if is_object and not (
        any(each.startswith(_MANAGER) for each in _managers(resource)) and _is_labelled(asked, outputs)
    ):
        return False
    if not lookup.is_planned:
        return True
    found = outputs if kind.startswith("kubernetes:") else resource.get("inputs") or {}
    return agreement(asked, found) is Agreement.SAME


def _is_labelled(asked: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """Tell whether an object has the labels that were asked for, the names of its stack and parts among them."""
    wanted, there = ((each.get("metadata") or {}).get("labels") or {} for each in (asked, found))
    if not wanted:
        return agreement(asked, found) is not Agreement.OTHER
    return agreement(wanted, {key: there.get(key, "") for key in wanted}) is not Agreement.OTHER


def _owned(resource: Resource) -> Resource:
    """Return a Kubernetes object with the field manager that applied it: under another name Pulumi meets a conflict."""
    outputs = resource.get("outputs") or {}
    managers = [each for each in _managers(resource) if each.startswith(_MANAGER)]
    return {**resource, "outputs": {**outputs, "__fieldManager": managers[-1]}} if managers else resource


def _managers(resource: Resource) -> list[str]:
    metadata = (resource.get("outputs") or {}).get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, Mapping) else None
    return [entry["manager"] for entry in entries or []]


def _to_be_repaired(resource: Resource) -> Resource:
    """A release that is not deployed is upgraded by the next run, although nobody asked for another one."""
    status = (resource.get("outputs") or {}).get("status")
    word = status.get("status", "deployed") if isinstance(status, Mapping) else "deployed"
    if resource["type"] != RELEASE or resource.get("delete") or word == "deployed":
        return resource
    return {**resource, "initErrors": [f"{_INTERRUPTED}: its status is {word}"]}


def _without_loose_ends(resources: Iterable[Resource]) -> list[Resource]:
    """Return the resources without references to what is not among them."""
    kept = list(resources)
    there = {each["urn"] for each in kept}
    return [_tied(each, there) for each in kept]


def _tied(resource: Resource, there: set[Any]) -> Resource:
    tied = dict(resource)
    for key in ("parent", "deletedWith"):
        if tied.get(key) and tied[key] not in there:
            del tied[key]
    if tied.get("dependencies"):
        tied["dependencies"] = [urn for urn in tied["dependencies"] if urn in there]
    if tied.get("propertyDependencies"):
        found = tied["propertyDependencies"].items()
        tied["propertyDependencies"] = {key: [urn for urn in urns or [] if urn in there] for key, urns in found}
    return tied
