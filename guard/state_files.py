"""What ``pulumi stack export`` writes, as recorded resources."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from guard.comparing import UNKNOWN
from guard.verdicts import Recorded
from stacks.problems import Problem, ProblemsFound
from stacks.pulumi_state import SECRET, SIGNATURE, STATE_VERSIONS, UNKNOWN_TEXT

__all__ = ["PROVIDER", "Deployment", "read_state"]

PROVIDER = "pulumi:providers:"
"""How the types of providers begin: resources to the engine, nothing to a cloud."""

_URN_PARTS = 4
_DEEPEST = 64
"""Levels of a property; no schema of a provider comes near."""
_EXPORT = "pulumi stack export --file STATE.json"


@dataclass(frozen=True)
class Deployment:
    """A stack's state: whose it is, and the cloud resources that it owns. Both names are empty for an empty state."""

    stack: str
    project: str
    resources: tuple[Recorded, ...]
    pending: int
    """Operations that were begun and not ended."""


def read_state(text: str, where: str) -> Deployment:
    """Read an exported state; raises ``ProblemsFound`` for anything else. Secret values are ``UNKNOWN``."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        _refuse(where, "the file is empty" if not text.strip() else "this is not JSON")
    if not isinstance(data, dict) or not isinstance(data.get("deployment"), dict):
        _refuse(where, "this is JSON, and not a stack's state: it has no deployment")
    if data.get("version") not in STATE_VERSIONS:
        _refuse(where, "the state is of a version that is not known here", data.get("version"))
    deployment = data["deployment"]
    listed = deployment.get("resources") or []
    pending = deployment.get("pending_operations") or []
    if not isinstance(listed, list) or not isinstance(pending, list):
        _refuse(where, "its resources are not a list")
    urns = [_urn(resource, where) for resource in listed]
    owners = {(urn.split("::")[0].rpartition(":")[2], urn.split("::")[1]) for urn in urns}
    if len(owners) > 1:
        _refuse(where, "its resources are of more than one stack", sorted("/".join(owner) for owner in owners))
    stack, project = next(iter(owners), ("", ""))
    return Deployment(stack, project, tuple(_owned(listed, where)), len(pending))


def _urn(resource: object, where: str) -> str:
    urn = resource.get("urn") if isinstance(resource, Mapping) else None
    if not isinstance(urn, str) or len(urn.split("::")) < _URN_PARTS or not urn.startswith("urn:pulumi:"):
        _refuse(where, "one of its resources has no URN", urn)
    return urn


def _owned(listed: list[dict[str, Any]], where: str) -> Iterator[Recorded]:
    """Yield what the engine would delete in a cloud: no providers, not what it only read or is deleting already."""
    for resource in listed:
        is_provider = resource["urn"].split("::")[2].rpartition("$")[2].startswith(PROVIDER)
        if resource.get("custom") and not (is_provider or resource.get("external") or resource.get("delete")):
            yield Recorded(
                urn=resource["urn"],
                outputs=_properties(resource, "outputs", where),
                inputs=_properties(resource, "inputs", where),
                id=str(resource.get("id") or ""),
                protected=bool(resource.get("protect")),
            )


def _properties(resource: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    found = resource.get(key) or {}
    if _depth(found) > _DEEPEST:
        _refuse(where, f"the {key} of {resource['urn']} are nested more than {_DEEPEST} levels deep")
    plain = _plain(found)
    if not isinstance(plain, dict):
        _refuse(where, f"the {key} of {resource['urn']} are not properties by name")
    return plain


def _depth(value: Any) -> int:
    """Return how many levels there are, counted only until there are too many."""
    level, depth = [value], 0
    while depth <= _DEEPEST and (inner := [each for each in level if isinstance(each, dict | list)]):
        level = [item for each in inner for item in (each.values() if isinstance(each, dict) else each)]
        depth += 1
    return depth


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        if value.get(SIGNATURE) == SECRET:
            return UNKNOWN
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return UNKNOWN if value == UNKNOWN_TEXT else value


def _refuse(where: str, why: str, value: object = None) -> NoReturn:
    raise ProblemsFound(
        [
            Problem(
                rule="state-file",
                path="--against",
                value=value,
                why=why,
                allowed="what pulumi stack export writes: version " + " or ".join(map(str, STATE_VERSIONS)),
                remedy=f"{_EXPORT}; of a sandbox: beamline sandbox shell STACK -- {_EXPORT}",
                where=where,
                source="Pulumi docs, pulumi stack export",
            )
        ]
    )
