"""States as Pulumi exports them, small enough to read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from beamline.recovery.state import State, read_state

STACK, PROJECT = "dev", "beamline"
GOOGLE = f"urn:pulumi:{STACK}::{PROJECT}::pulumi:providers:gcp::google"
CLUSTER = f"urn:pulumi:{STACK}::{PROJECT}::pulumi:providers:kubernetes::cluster"
NETWORK, SUBNETWORK = "gcp:compute/network:Network", "gcp:compute/subnetwork:Subnetwork"
DEPLOYMENT, RELEASE = "kubernetes:apps/v1:Deployment", "kubernetes:helm.sh/v3:Release"
NETWORK_ID = "projects/p/global/networks/beam"


def urn(kind: str, name: str) -> str:
    return f"urn:pulumi:{STACK}::{PROJECT}::{kind}::{name}"


def resource(kind: str, name: str, inputs: Mapping[str, Any] | None = None, **rest: Any) -> dict[str, Any]:
    provider = f"{CLUSTER}::k" if kind.startswith("kubernetes:") else f"{GOOGLE}::g"
    made = {"urn": urn(kind, name), "custom": True, "type": kind, "inputs": dict(inputs or {}), "provider": provider}
    return {**made, **rest}


def providers() -> list[dict[str, Any]]:
    settings = {"project": "p", "region": "r", "zone": "r-b"}
    google = {"urn": GOOGLE, "custom": True, "id": "g", "type": "pulumi:providers:gcp", "inputs": settings}
    kubeconfig = {"kubeconfig": "apiVersion: v1"}
    cluster = {"urn": CLUSTER, "custom": True, "id": "k", "type": "pulumi:providers:kubernetes", "inputs": kubeconfig}
    return [google, cluster]


def document(*resources: Mapping[str, Any], pending: Mapping[str, Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """Return an exported state; ``pending`` maps a kind of operation to the resource it is about."""
    operations = [{"resource": each, "type": kind.partition(" ")[0]} for kind, each in (pending or {}).items()]
    return {
        "version": 3,
        "deployment": {"manifest": {}, "resources": [*providers(), *resources], "pending_operations": operations},
    }


def state(*resources: Mapping[str, Any], pending: Mapping[str, Mapping[str, Any]] | None = None) -> State:
    return read_state(json.dumps(document(*resources, pending=pending)), STACK, PROJECT)


def own(found: State) -> list[Any]:
    """Return a state's resources without the providers."""
    return [each for each in found.resources if not each["type"].startswith("pulumi:")]


def network(**rest: Any) -> dict[str, Any]:
    return resource(NETWORK, "network", {"name": "beam", "mtu": 8896}, **rest)


def deployment(**rest: Any) -> dict[str, Any]:
    inputs = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "vllm", "namespace": "serving"}}
    return resource(DEPLOYMENT, "vllm", inputs, **rest)


def release(**rest: Any) -> dict[str, Any]:
    return resource(RELEASE, "lws", {"name": "lws", "namespace": "lws-system", "version": "0.9.1"}, **rest)
