"""Objects of a serving stack, and a cluster made of a dictionary that the controllers work on."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

from beamline.sandbox.cloud.api_server import ApiServer
from beamline.sandbox.operators.controller import Controller
from beamline.sandbox.operators.world import WATCHED
from stacks.cloud import SANDBOX_PROJECT as PROJECT

__all__ = ["PROJECT", "Cluster", "conditions", "serving"]

GATEWAYS, POOLS = "gateway.networking.k8s.io", "inference.networking.k8s.io"


def serving() -> dict[str, dict[str, Any]]:
    """A Gateway, its route, the pool behind it, the picker's Service, and the policies, by kind."""
    pool = {"group": POOLS, "kind": "InferencePool", "name": "beam"}
    return {
        "GatewayClass": obj(
            "GatewayClass", "gke-l7-rilb", {"controllerName": "networking.gke.io/gateway"}, namespace=""
        ),
        "Gateway": obj(
            "Gateway",
            "beam",
            {
                "gatewayClassName": "gke-l7-rilb",
                "listeners": [
                    {
                        "name": "http",
                        "port": 80,
                        "protocol": "HTTP",
                        "allowedRoutes": {"namespaces": {"from": "Same"}},
                    }
                ],
            },
        ),
        "HTTPRoute": obj(
            "HTTPRoute",
            "beam",
            {
                "parentRefs": [{"group": GATEWAYS, "kind": "Gateway", "name": "beam"}],
                "rules": [{"backendRefs": [{**pool, "weight": 1}]}],
            },
        ),
        "InferencePool": obj(
            "InferencePool",
            "beam",
            {
                "selector": {"matchLabels": {"app": "beam"}},
                "targetPorts": [{"number": 8000}],
                "endpointPickerRef": {"group": "", "kind": "Service", "name": "beam-epp", "port": {"number": 9002}},
            },
        ),
        "Service": obj("Service", "beam-epp", {"ports": [{"port": 9002}, {"port": 9090}]}),
        "HealthCheckPolicy": obj("HealthCheckPolicy", "beam", {"targetRef": pool}),
        "GCPBackendPolicy": obj("GCPBackendPolicy", "beam", {"targetRef": pool}),
        "GCPGatewayPolicy": obj(
            "GCPGatewayPolicy", "beam", {"targetRef": {"group": GATEWAYS, "kind": "Gateway", "name": "beam"}}
        ),
        "PodMonitoring": obj("PodMonitoring", "beam", {"endpoints": [{"port": 8000, "interval": "15s"}]}),
        "Namespace": obj("Namespace", "serving", {}, namespace=""),
    }


def obj(kind: str, name: str, spec: dict[str, Any], namespace: str = "serving") -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "uid": f"{kind}-{name}", "generation": 1}
    if namespace:
        metadata["namespace"] = namespace
    return {"kind": kind, "metadata": metadata, "spec": copy.deepcopy(spec)}


class Cluster(ApiServer):
    """Takes what the controllers write and shows it to them again, as watching would."""

    controller: Controller

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.writes: list[str] = []
        self.now_s = 0.0

    def put(self, *manifests: dict[str, Any]) -> None:
        for manifest in manifests:
            self.objects[self._path(manifest)] = manifest
            self.controller.world.put(copy.deepcopy(manifest))

    def drop(self, manifest: dict[str, Any]) -> None:
        del self.objects[self._path(manifest)]
        self.controller.world.drop(manifest)

    def get_object(self, kind: str, name: str = "beam") -> dict[str, Any] | None:
        found = (o for o in self.objects.values() if (o["kind"], o["metadata"]["name"]) == (kind, name))
        return next(found, None)

    def settle(self) -> float | None:
        """Run passes until one writes nothing; return when the controller would look again by itself."""
        for _ in range(10):
            before = len(self.writes)
            due = self.controller.run_once()
            if len(self.writes) == before:
                return due
        raise AssertionError(f"the controllers do not come to rest: {self.writes[-6:]}")

    def merge(self, path: str, change: Mapping[str, Any]) -> None:
        self.writes.append(path)
        found = self.objects.get(path.removesuffix("/status"))
        if found is None:
            return
        if path.endswith("/status"):
            found["status"] = {**found.get("status", {}), **json.loads(json.dumps(change["status"]))}
        else:
            found["metadata"] |= change["metadata"]
            if "deletionTimestamp" in found["metadata"] and not found["metadata"].get("finalizers"):
                self.drop(found)
                return
        self.controller.world.put(copy.deepcopy(found))

    def _path(self, manifest: dict[str, Any]) -> str:
        group, version, plural = WATCHED[manifest["kind"]]
        root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        namespace = manifest["metadata"].get("namespace")
        scope = f"/namespaces/{namespace}" if namespace else ""
        return f"{root}{scope}/{plural}/{manifest['metadata']['name']}"


def conditions(holder: dict[str, Any] | None) -> dict[str, tuple[str, str]]:
    """Return condition type to status and reason."""
    assert holder is not None
    return {entry["type"]: (entry["status"], entry["reason"]) for entry in holder["conditions"]}
