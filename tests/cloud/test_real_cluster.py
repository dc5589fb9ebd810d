"""The simulated cloud over a real API server: what it installs, the nodes that come up, and that nothing stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from beamline.sandbox.cloud.api_server import ApiServer
from beamline.sandbox.cloud.control_plane import leftovers
from beamline.sandbox.cloud.operations import Operations
from beamline.sandbox.cloud.ownership import ownership
from beamline.sandbox.cloud.simulation import Simulation

from .real_cluster import real_simulation, until
from .samples import CLUSTER, CLUSTER_ID, POOL, build, inputs

pytestmark = pytest.mark.sandbox

GPUS = f"{CLUSTER_ID}/nodePools/beam-gpus"


@pytest.fixture(scope="module")
def simulation(tools: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulation]:
    with real_simulation(tmp_path_factory.mktemp("sandbox"), tools) as simulation:
        yield simulation


@pytest.fixture(scope="module")
def cloud(simulation: Simulation) -> Operations:
    cloud = Operations(simulation)
    build(cloud)
    return cloud


@pytest.fixture(scope="module")
def api(simulation: Simulation) -> ApiServer:
    return simulation.api()


def nodes(api: ApiServer, pool: str) -> list[dict[str, Any]]:
    return api.items(api.kind("v1", "Node"), selector=f"cloud.google.com/gke-nodepool%3D{pool}")


def pod(name: str, gpus: int) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            "containers": [{"name": "c", "image": "x", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}],
            "automountServiceAccountToken": False,
        },
    }


@pytest.mark.usefixtures("cloud")
def test_gke_objects_are_there(api: ApiServer) -> None:
    group_version = {
        "CustomResourceDefinition": "apiextensions.k8s.io/v1",
        "GatewayClass": "gateway.networking.k8s.io/v1",
        "Namespace": "v1",
        "StorageClass": "storage.k8s.io/v1",
        "CSIDriver": "storage.k8s.io/v1",
        "DeviceClass": "resource.k8s.io/v1",
    }
    expected = {
        (row.kind, row.name)
        for row in ownership()
        if row.owner == "GKE" and row.when not in ("secret_manager", "gcs_fuse", "performance_hpa")
    }
    found = {
        (kind, item["metadata"]["name"])
        for kind, version in group_version.items()
        for item in api.items(api.kind(version, kind))
    }
    assert expected - found == set()


@pytest.mark.usefixtures("cloud")
def test_nodes_are_ready_with_what_the_machine_has(api: ApiServer) -> None:
    (node,) = nodes(api, "beam-gpus")
    status = node["status"]
    assert {c["type"]: c["status"] for c in status["conditions"]}["Ready"] == "True"
    assert status["allocatable"]["nvidia.com/gpu"] == "8"
    assert status["allocatable"]["cpu"] == "382970m"
    assert status["nodeInfo"]["kubeletVersion"] == "v1.35.8-gke.1036000"
    assert node["spec"]["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    assert len(nodes(api, "beam-system")) == 2


@pytest.mark.usefixtures("cloud")
def test_pods_are_scheduled_by_what_nodes_have(api: ApiServer) -> None:
    pods = api.kind("v1", "Pod")
    for name, gpus in (("fits", 8), ("too-large", 9)):
        api.create(pods, pod(name, gpus))

    def found(name: str) -> dict[str, Any]:
        return api.get(pods.path("default", name)) or {}

    until(lambda: bool(found("fits").get("spec", {}).get("nodeName")))
    until(lambda: any(c["type"] == "PodScheduled" for c in found("too-large").get("status", {}).get("conditions", [])))
    (condition,) = [c for c in found("too-large")["status"]["conditions"] if c["type"] == "PodScheduled"]
    assert "Insufficient nvidia.com/gpu" in condition["message"]


def test_a_pool_that_goes_takes_nodes_and_pods_with_it(cloud: Operations, api: ApiServer) -> None:
    cloud.delete(POOL, GPUS)
    assert nodes(api, "beam-gpus") == []
    names = [item["metadata"]["name"] for item in api.items(api.kind("v1", "Pod"))]
    assert "fits" not in names
    cloud.create(POOL, inputs("gpus"))
    assert len(nodes(api, "beam-gpus")) == 1


def test_an_upgrade_replaces_real_nodes(cloud: Operations, api: ApiServer) -> None:
    before = {node["metadata"]["name"] for node in nodes(api, "beam-system")}
    cloud.update(POOL, f"{CLUSTER_ID}/nodePools/beam-system", inputs("system", nodeConfig__machineType="n4-standard-8"))
    after = nodes(api, "beam-system")
    assert len(after) == 2
    assert not before & {node["metadata"]["name"] for node in after}
    assert {node["status"]["capacity"]["cpu"] for node in after} == {"8"}


def test_the_cluster_goes_with_everything_in_it(cloud: Operations, api: ApiServer, simulation: Simulation) -> None:
    """Also with what has finalizers that nobody would remove, and what others installed."""
    api.apply(api.kind("v1", "Namespace"), {"metadata": {"name": "serving"}})
    stuck = {"metadata": {"name": "stuck", "namespace": "serving", "finalizers": ["example.com/never"]}}
    api.apply(api.kind("v1", "ConfigMap"), stuck)
    api.apply(api.kind("rbac.authorization.k8s.io/v1", "ClusterRole"), {"metadata": {"name": "reader"}})
    assert "ConfigMap serving/stuck" in leftovers(simulation)
    cloud.delete(CLUSTER, CLUSTER_ID)
    assert leftovers(simulation) == []
    assert simulation.ledger.of_type(POOL) == []
    names = {item["metadata"]["name"] for item in api.items(api.kind("v1", "Namespace"))}
    assert names == {"default", "kube-node-lease", "kube-public", "kube-system"}
    assert api.items(api.kind("v1", "Node")) == []
    assert api.items(api.kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")) == []


def test_and_can_be_made_again(cloud: Operations, api: ApiServer) -> None:
    cloud.create(CLUSTER, inputs("cluster"))
    assert api.serves("gateway.networking.k8s.io/v1", "Gateway")
