"""A stack as if it were applied: the program run in this process, every resource answered as a cloud would.

The form is that of ``pulumi stack export``; tests/end_to_end does the same with a real one.
"""

from __future__ import annotations

import json
from typing import Any

from beamline.cli.planning import CHECKOUT
from beamline.cli.selection import select
from beamline.engine import Resource, Secret, Unknown, Value, run_program

__all__ = ["exported"]

SIGNATURE = "4dabf18193072939515e22adb298388d"
SECRET = {SIGNATURE: "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:x:y"}

FILLED_IN: dict[str, dict[str, Value]] = {
    "gcp:container/cluster:Cluster": {
        "controlPlaneEndpointsConfig": {
            "dnsEndpointConfig": {"allowExternalTraffic": True, "endpoint": "gke-0123.us-central1.gke.goog"},
            "ipEndpointsConfig": {"enabled": False},
        },
        "masterAuth": {"clusterCaCertificate": "Q0E="},
    }
}


def exported(stack: str, **edits: Any) -> dict[str, Any]:
    """Return the state of a stack or preset; ``edits`` replace parts of the document's ``deployment``."""
    selection = select(stack)
    graph = run_program(CHECKOUT, project="beamline", stack=selection.name, config=selection.config, recall=_applied)
    resources = [
        {
            "urn": resource.urn,
            "type": resource.type,
            "custom": resource.custom,
            "id": f"{resource.name}-id",
            "inputs": {"__defaults": [], **_plain(dict(resource.inputs))},
            "outputs": _plain(_outputs(resource)),
            "protect": bool(resource.protect),
        }
        for resource in graph.resources
    ]
    deployment = {"manifest": {"time": "2026-08-21T00:00:00Z"}, "resources": resources, **edits}
    return {"version": 3, "deployment": json.loads(json.dumps(deployment))}


def _applied(resource: Resource) -> tuple[str, dict[str, Value]] | None:
    return f"{resource.name}-id", _outputs(resource)


def _outputs(resource: Resource) -> dict[str, Value]:
    """What was asked for, and what a cloud fills in: beside it, and within blocks that were asked for."""
    return {
        **resource.inputs,
        "email": f"{resource.name}@example.com",
        **FILLED_IN.get(resource.type, {}),
    }


def _plain(value: Value) -> Any:
    if isinstance(value, Secret):
        return SECRET
    if isinstance(value, Unknown):
        return "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
