"""What a crash left in a stack's state, and what is to be done about each of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from beamline.recovery.identities import RELEASE, Identity, identify
from beamline.recovery.state import Operation, Resource, State, is_secret

__all__ = [
    "IN_DOUBT", "PLANNED", "Finding", "Lookup", "about_to", "examine", "hand_work", "is_release", "lookups", "named",
    "planned", "targets",
]  # fmt: skip

IN_DOUBT = "beamline recover: in doubt until it is read again"
PLANNED = "beamline recover: in doubt until it is read again; it was not in the state before"
"""As the engine keeps why a resource is not ready: reading it clears them, a run that does not read meets them."""

_SLOW = ("gcp:container/cluster:Cluster", "gcp:container/nodePool:NodePool")
"""What Google goes on making for minutes after whoever asked for it is gone."""


@dataclass(frozen=True)
class Finding:
    """One thing that is not as a finished run leaves it."""

    subject: str
    found: str
    will: str
    """What recover does about it."""
    by_hand: str = ""
    """What it cannot do: the commands for it. Empty where nothing remains."""
    is_planned: bool = False
    """Nothing need be wrong: the program is about to create it, and it may exist already."""


@dataclass(frozen=True)
class Lookup:
    """A create without an answer: the resource may exist or not, and is looked up under its id."""

    resource: Resource
    identity: Identity
    is_planned: bool = False
    """The state does not mention it; the program is about to create it."""

    @property
    def urn(self) -> str:
        """Its name in Pulumi."""
        return str(self.resource["urn"])


def named(urn: str) -> str:
    """Return ``Deployment vllm`` for ``urn:pulumi:g4::beamline::...$kubernetes:apps/v1:Deployment::vllm``."""
    kind, _, name = urn.rpartition("::")
    return f"{kind.rpartition('$')[2].rpartition(':')[2]} {name}"


def examine(state: State, stack: str) -> list[Finding]:
    """Return what is wrong in a state, operation by operation, then resource by resource."""
    found = [_operation(state, operation, stack) for operation in state.operations]
    return [*found, *(finding for each in state.resources for finding in _resource(each, stack))]


def about_to(lookup: Lookup) -> Finding:
    """Return what is to be done about something that the program is about to create."""
    found = "it is about to be created, and a provider that died may have made it already"
    will = f"look it up as {lookup.identity.id}: enter it into the state if it exists and is as asked for"
    return Finding(named(lookup.urn), found, will, is_planned=True)


def lookups(state: State) -> list[Lookup]:
    """Return the pending creates whose id is known, and what a recovery that was interrupted had begun to look up."""
    found = {}
    for operation in state.operations:
        identity = _looked_up(state, operation)
        if identity is not None:
            found[operation.urn] = Lookup(operation.resource, identity)
    for each in state.resources:
        marks, there = each.get("initErrors") or [], str(each.get("id", ""))
        if {IN_DOUBT, PLANNED} & set(marks):
            identity = _identity(state, each) or Identity(there, there)
            found[each["urn"]] = Lookup(each, identity, is_planned=PLANNED in marks)
    return list(found.values())


def planned(preview: str, state: State) -> list[Lookup]:
    """Return what the program is about to create and can be looked up, from ``pulumi preview --json``.

    When a provider dies rather than the engine, the engine takes the create for failed and forgets it. What holds a
    secret is left out: a preview does not show it, and the state must have it whole.
    """
    pending = {operation.urn for operation in state.operations}
    found = []
    for step in json.loads(preview).get("steps") or []:
        resource: Mapping[str, Any] = step.get("newState") or {}
        is_create = step.get("op") in ("create", "create-replacement") and resource.get("custom")
        if not is_create or resource["urn"] in pending or is_secret(resource.get("inputs")):
            continue
        identity = _identity(state, resource)
        if identity is not None and not state.knows(resource["type"], identity.id):
            found.append(Lookup(resource, identity, is_planned=True))
    return found


def targets(state: State, found: Sequence[Lookup]) -> list[str]:
    """Return the names of all that has to be read again."""
    urns = [lookup.urn for lookup in found]
    urns += [operation.urn for operation in state.operations]
    urns += [str(each["urn"]) for each in state.resources if each.get("initErrors")]
    there = {each["urn"] for each in state.resources} | {lookup.urn for lookup in found}
    return [urn for urn in dict.fromkeys(urns) if urn in there]


def hand_work(state: State) -> bool:
    """Tell whether there is a pending create that only a human can look up."""
    return any(_is_riddle(state, operation) for operation in state.operations)


def _operation(state: State, operation: Operation, stack: str) -> Finding:
    subject, kind = named(operation.urn), operation.kind
    if kind in ("updating", "deleting"):
        doing = {"updating": "a change", "deleting": "a deletion"}[kind]
        will = "read it again, forget the operation; the next run compares, and repeats what is not done"
        return Finding(subject, f"{doing} was begun, its end is not known", will)
    if kind != "creating":
        return Finding(subject, f"{kind} was cut off", "forget the operation; it changes nothing in the cloud")
    if _is_riddle(state, operation):
        return Finding(
            subject,
            "it was being created, and its id does not follow from its inputs",
            "nothing, and nothing else before that is done",
            _pending_commands(operation.urn, stack),
        )
    identity = _looked_up(state, operation)
    if identity is None:
        return Finding(subject, "it was being created", _forget(state, operation))
    slow = "; if Google is still making it, it is ready when `gcloud container operations list` says so"
    will = f"look it up as {identity.id}: enter it into the state if it exists, forget it if not"
    return Finding(subject, "it was being created", will + (slow if operation.resource["type"] in _SLOW else ""))


def _forget(state: State, operation: Operation) -> str:
    kind = str(operation.resource["type"])
    if not operation.resource.get("custom") or kind.startswith("pulumi:"):
        return "forget the operation; it is nothing in a cloud"
    return "read it again, forget the operation; the state has it" if state.live(operation.urn) else "forget it"


def _resource(resource: Resource, stack: str) -> Iterator[Finding]:
    subject, urn = named(str(resource["urn"])), resource["urn"]
    marks = resource.get("initErrors") or []
    if PLANNED in marks:
        will = "with --adopt read it again; without, take it out of the state, which did not have it before"
        yield Finding(subject, "a recovery with --adopt that was interrupted had begun to look it up", will)
    elif IN_DOUBT in marks:
        yield Finding(subject, "a recovery that was interrupted had begun to look it up", "read it again")
    elif marks:
        yield Finding(subject, "it exists and did not become ready", "read it again; the next run waits for it again")
    if resource.get("delete") and resource.get("protect"):
        yield Finding(
            subject,
            "it was replaced, and is protected: no run will delete the old one",
            "nothing; that is a decision",
            f"to give it up: pulumi state unprotect '{urn}' --yes --stack {stack}",
        )


def _looked_up(state: State, operation: Operation) -> Identity | None:
    """Return the id of a pending create that has to be looked up; None where there is nothing to look up."""
    if operation.kind != "creating" or not operation.resource.get("custom"):
        return None
    identity = _identity(state, operation.resource)
    return None if identity is None or state.knows(operation.resource["type"], identity.id) else identity


def _identity(state: State, resource: Resource) -> Identity | None:
    provider = state.provider_of(resource)
    if provider is None:
        return None
    return identify(str(resource["type"]), resource.get("inputs") or {}, provider)


def _is_riddle(state: State, operation: Operation) -> bool:
    resource = operation.resource
    if operation.kind != "creating" or not resource.get("custom") or str(resource["type"]).startswith("pulumi:"):
        return False
    return _identity(state, resource) is None


def _pending_commands(urn: str, stack: str) -> str:
    refresh = f"pulumi refresh --yes --stack {stack}"
    return (
        f"if it exists: {refresh} --import-pending-creates '{urn}' --import-pending-creates ID; "
        f"if it does not: {refresh} --clear-pending-creates"
    )


def is_release(resource: Resource) -> bool:
    """Tell whether it is a Helm release."""
    return bool(resource["type"] == RELEASE)
