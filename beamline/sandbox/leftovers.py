"""Proof that a destroy left nothing: neither in the simulated cloud's ledger nor in the API server."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from beamline.sandbox.kubernetes_api import KubernetesApi, Object
from stacks.problems import Problem, ordered

__all__ = ["in_cloud", "in_kubernetes"]

_SYSTEM = (
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "api-priority-and-fairness-",
    "clusterrole-aggregation-controller",
    "kubernetes-service-cidr-controller",
    "service-cidr-controller",
    "kwok",
    "beamline-sandbox",
)
"""Field managers (by prefix) of what a control plane makes by itself, and of the sandbox's own bootstrap."""

_COME_AND_GO = {"ComponentStatus", "Event", "Lease"}
_ALWAYS_OURS = {"Node", "PersistentVolume", "PersistentVolumeClaim", "Pod"}
"""Made by controllers on behalf of something of ours, whoever the field manager says made them."""


def in_cloud(ledger: Path) -> list[Problem]:
    """Return what the simulated project still holds."""
    if not ledger.exists():
        return []
    connection = sqlite3.connect(f"{ledger.as_uri()}?mode=ro", uri=True)
    try:
        connection.row_factory = sqlite3.Row
        rows = [dict(row) for row in connection.execute("SELECT * FROM resources")]
    except sqlite3.OperationalError:  # no such table: nothing was ever created
        return []
    finally:
        connection.close()
    return ordered(_left(f"simulated cloud: {row.get('type', 'resource')}", _identity(row)) for row in rows)


def in_kubernetes(api: KubernetesApi) -> list[Problem]:
    """Return the objects that neither Kubernetes nor the sandbox made for themselves."""
    return ordered(_left(f"API server: {kind}", name) for kind, name in _foreign(api))


def _foreign(api: KubernetesApi) -> Iterator[tuple[str, str]]:
    for resource in api.resources():
        if resource.kind in _COME_AND_GO:
            continue
        for item in api.items(resource.path):
            if resource.kind in _ALWAYS_OURS or not _made_by_system(item):
                metadata = item["metadata"]
                yield resource.kind, "/".join(filter(None, [metadata.get("namespace"), metadata["name"]]))


def _made_by_system(item: Object) -> bool:
    managers = [entry["manager"] for entry in item["metadata"].get("managedFields", [])]
    return all(manager.startswith(_SYSTEM) for manager in managers)


def _identity(row: dict[str, object]) -> str:
    return str(next((row[key] for key in ("id", "name", "urn") if row.get(key)), row))


def _left(path: str, value: str) -> Problem:
    return Problem(
        rule="left-behind",
        path=path,
        value=value,
        why="it is still there after the stack was destroyed, so something created it that the engine does not know",
        remedy="let the stack own it, or let what creates it delete it",
    )
