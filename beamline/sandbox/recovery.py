"""Brings the engine's state back in line with the world after an apply that did not end well.

A killed engine leaves operations "pending": it had asked for a resource and never heard of it. Pulumi's own answer to a
pending create is to create again, which a cloud refuses: the thing exists. The documented cure is to enter what exists
into the state by hand and refresh; here the simulated cloud's ledger says what exists, so no hand is needed.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from beamline.sandbox import pulumi_runs
from beamline.sandbox.home import Home, write_atomically
from beamline.sandbox.kubernetes_api import KubernetesApi
from beamline.sandbox.progress import Progress, Report

__all__ = ["Existing", "adopted", "bring_in_line", "same_resource"]

_KUBERNETES_OBJECT = re.compile(r"kubernetes:(?!helm\.sh/)[^:]+/v\w+:\w+")


class Existing(NamedTuple):
    """A resource that an interrupted create left behind: its id, and what its provider must know of it."""

    id: str
    outputs: dict[str, Any]


Resource = Mapping[str, Any]
"""One resource as Pulumi's exported state writes it."""


def bring_in_line(home: Home, api: KubernetesApi, stack: str, report: Report) -> pulumi_runs.Run:
    """Enter resources of interrupted creates into the state, then let the engine read everything again."""
    report(Progress("recover", "the last apply did not end well; reading what is really there"))
    state = json.loads(pulumi_runs.ask(home, "stack", "export", "--stack", stack))
    if state["deployment"].get("pending_operations"):
        ids = {resource.get("id") for resource in state["deployment"].get("resources") or []}
        file = home.pulumi / "recovered-state.json"
        write_atomically(
            file,
            json.dumps(adopted(state, lambda resource: _in_cluster(api, resource) or _in_cloud(home, resource, ids))),
        )
        pulumi_runs.ask(home, "stack", "import", "--file", str(file), "--stack", stack)
        file.unlink()
    return pulumi_runs.run(home, "recover", "refresh", "--yes", "--skip-preview", "--stack", stack, report=report)


def adopted(state: dict[str, Any], find: Callable[[Resource], Existing | None]) -> dict[str, Any]:
    """Return the exported state without pending operations, and with each interrupted create that left something."""
    deployment = state["deployment"]
    resources = list(deployment.get("resources") or [])
    for operation in deployment.get("pending_operations") or []:
        found = find(operation["resource"]) if operation["type"] == "creating" else None
        if found is not None:
            resources.append({**operation["resource"], "id": found.id, "outputs": found.outputs})
    return {**state, "deployment": {**deployment, "resources": resources, "pending_operations": []}}


def same_resource(asked: Mapping[str, Any], entered: Mapping[str, Any]) -> bool:
    """Tell whether inputs asked for and inputs entered describe one resource, by the plain values they share.

    Nested values and secrets differ in form between the engine's state and the ledger.
    """
    shared = [key for key in asked if key in entered and isinstance(asked[key], str | int | float | bool)]
    return bool(shared) and all(asked[key] == entered[key] for key in shared)


def _in_cluster(api: KubernetesApi, resource: Resource) -> Existing | None:
    """Return the Kubernetes object with the field manager that applied it: another one would meet a conflict."""
    if not _KUBERNETES_OBJECT.fullmatch(resource["type"]):
        return None
    inputs = resource["inputs"]
    namespace, name = inputs["metadata"].get("namespace", ""), inputs["metadata"].get("name", "")
    found = api.find(inputs["apiVersion"], inputs["kind"], namespace, name)
    if found is None:
        return None
    managers = [entry["manager"] for entry in found["metadata"].get("managedFields", [])]
    outputs = {**inputs, "__initialApiVersion": inputs["apiVersion"], "__inputs": inputs}
    for manager in managers:
        if manager.startswith("pulumi-kubernetes-"):
            outputs["__fieldManager"] = manager
    return Existing("/".join(filter(None, [namespace, name])), outputs)


def _in_cloud(home: Home, resource: Resource, known: set[str | None]) -> Existing | None:
    """Return the resource of the simulated cloud that these inputs made and the state does not know."""
    inputs = resource.get("inputs") or {}
    for row_id, row_inputs in _ledger_rows(home.ledger, resource["type"]):
        if row_id not in known and same_resource(inputs, json.loads(row_inputs)):
            return Existing(row_id, dict(inputs))
    return None


def _ledger_rows(ledger: Path, kind: str) -> list[tuple[str, str]]:
    if not ledger.exists():
        return []
    connection = sqlite3.connect(f"{ledger.as_uri()}?mode=ro", uri=True)
    try:
        return connection.execute("SELECT id, inputs FROM resources WHERE type = ?", (kind,)).fetchall()
    except sqlite3.OperationalError:  # no such table: nothing was ever created
        return []
    finally:
        connection.close()
