"""The controllers as a process over a real API server: they watch, write, and leave nothing when objects go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from beamline.sandbox.cloud.api_server import ApiServer
from beamline.sandbox.cloud.operations import Operations
from beamline.sandbox.cloud.simulation import Simulation
from tests.cloud.real_cluster import real_simulation, until
from tests.cloud.samples import build

pytestmark = pytest.mark.sandbox

STACK = """
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: beam, namespace: default}
spec: {gatewayClassName: gke-l7-rilb, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: beam, namespace: default}
spec:
  parentRefs: [{name: beam}]
  rules: [{backendRefs: [{group: inference.networking.k8s.io, kind: InferencePool, name: beam}]}]
---
apiVersion: inference.networking.k8s.io/v1
kind: InferencePool
metadata: {name: beam, namespace: default}
spec:
  selector: {matchLabels: {app: beam}}
  targetPorts: [{number: 8000}]
  endpointPickerRef: {name: beam-epp, port: {number: 9002}}
---
apiVersion: networking.gke.io/v1
kind: HealthCheckPolicy
metadata: {name: beam, namespace: default}
spec:
  targetRef: {group: inference.networking.k8s.io, kind: InferencePool, name: beam}
  default: {config: {type: HTTP, httpHealthCheck: {portSpecification: USE_FIXED_PORT, port: 8000}}}
---
apiVersion: monitoring.googleapis.com/v1
kind: PodMonitoring
metadata: {name: beam, namespace: default}
spec: {selector: {matchLabels: {app: beam}}, endpoints: [{port: 8000, interval: 15s}]}
---
apiVersion: v1
kind: Service
metadata: {name: beam-epp, namespace: default}
spec: {selector: {app: epp}, ports: [{port: 9002}]}
"""


@pytest.fixture(scope="module")
def simulation(tools: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulation]:
    with real_simulation(tmp_path_factory.mktemp("sandbox"), tools) as simulation:
        build(Operations(simulation), "network", "nodes", "proxies", "account", "cluster")
        yield simulation


@pytest.fixture(scope="module")
def api(simulation: Simulation) -> ApiServer:
    return simulation.api()


def status(api: ApiServer, group_version: str, kind: str) -> dict[str, Any]:
    found = api.get(api.kind(group_version, kind).path("default", "beam")) or {}
    result: dict[str, Any] = found.get("status", {})
    return result


def holds(conditions: list[dict[str, Any]], kind: str, value: str = "True") -> bool:
    return any(c["type"] == kind and c["status"] == value for c in conditions)


def test_statuses_appear_follow_changes_and_go(api: ApiServer, simulation: Simulation) -> None:
    gateways, pools = "gateway.networking.k8s.io/v1", "inference.networking.k8s.io/v1"
    objects = list(yaml.safe_load_all(STACK))
    service = objects.pop()
    for manifest in objects:
        api.apply(api.kind(manifest["apiVersion"], manifest["kind"]), manifest)

    def pool(value: str) -> bool:
        parents = status(api, pools, "InferencePool").get("parents", [])
        return bool(parents) and holds(parents[0]["conditions"], "ResolvedRefs", value)

    until(lambda: holds(status(api, gateways, "Gateway").get("conditions", []), "Programmed"))
    assert status(api, gateways, "Gateway")["addresses"][0]["value"].startswith("10.128.14.")
    until(lambda: pool("False"))
    api.apply(api.kind("v1", "Service"), service)
    until(lambda: pool("True"))
    until(lambda: holds(status(api, "networking.gke.io/v1", "HealthCheckPolicy").get("conditions", []), "Attached"))
    until(
        lambda: holds(
            status(api, "monitoring.googleapis.com/v1", "PodMonitoring").get("conditions", []),
            "ConfigurationCreateSuccess",
        )
    )
    rule = "simulated:compute/forwardingRule:ForwardingRule"
    assert len(simulation.ledger.of_type(rule)) == 1
    for manifest in [*objects, service]:
        api.delete(api.kind(manifest["apiVersion"], manifest["kind"]).path("default", "beam"))
    until(lambda: api.get(api.kind(gateways, "Gateway").path("default", "beam")) is None)
    assert simulation.ledger.of_type(rule) == []
