"""Bare metal over a real API server and scheduler: who gets RDMA interfaces, and what is said of who does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from beamline.sandbox.cloud.api_server import ApiServer, Kind
from beamline.sandbox.cloud.faults import FAULTS
from beamline.sandbox.cloud.operations import Operations
from beamline.sandbox.cloud.simulation import Simulation

from .real_cluster import real_simulation, until
from .samples import CLUSTER_ID, POOL, build_metal, inputs

pytestmark = pytest.mark.sandbox

METAL = f"{CLUSTER_ID}/nodePools/beam-metal"
PODS = Kind("v1", "Pod", "pods", namespaced=True)
GPU = {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"}
ARM = {"key": "kubernetes.io/arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}

ASAPD: dict[str, Any] = {
    "metadata": {"name": "asapd-lite", "namespace": "kube-system"},
    "spec": {
        "selector": {"matchLabels": {"app": "asapd-lite"}},
        "template": {
            "metadata": {"labels": {"app": "asapd-lite"}},
            "spec": {
                "hostNetwork": True,
                "tolerations": [{"operator": "Exists"}],
                "nodeSelector": {"node.kubernetes.io/instance-type": "a4x-maxgpu-4g-metal"},
                "containers": [
                    {
                        "name": "asapd-lite",
                        "image": "mirror.example/asapd-lite/asapd-lite:v0.0.8",
                        "resources": {"limits": {"hugepages-2Mi": "8192Mi", "memory": "1Gi", "cpu": "100m"}},
                    }
                ],
            },
        },
    },
}
CLAIM = {
    "metadata": {"name": "all-mrdma", "namespace": "default"},
    "spec": {
        "spec": {
            "devices": {
                "requests": [
                    {
                        "name": "nics",
                        "exactly": {
                            "deviceClassName": "mrdma.google.com",
                            "allocationMode": "ExactCount",
                            "count": 8,
                        },
                    }
                ]
            }
        }
    },
}


def worker(index: int, tolerations: list[dict[str, str]]) -> dict[str, Any]:
    return {
        "metadata": {"name": f"worker-{index}", "namespace": "default", "labels": {"app": "worker"}},
        "spec": {
            "tolerations": tolerations,
            "nodeSelector": {"gke.networks.io/accelerator-network-profile": "auto"},
            "resourceClaims": [{"name": "nics", "resourceClaimTemplateName": "all-mrdma"}],
            "containers": [
                {
                    "name": "c",
                    "image": "x",
                    "resources": {"limits": {"nvidia.com/gpu": "4"}, "claims": [{"name": "nics"}]},
                }
            ],
            "automountServiceAccountToken": False,
        },
    }


@pytest.fixture(scope="module")
def simulation(tools: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulation]:
    with real_simulation(tmp_path_factory.mktemp("sandbox"), tools) as simulation:
        yield simulation


@pytest.fixture(scope="module")
def cloud(simulation: Simulation) -> Operations:
    """Eight metal nodes, one of which has an interface that does not come up."""
    (simulation.folder / FAULTS).write_text("nodes: [{pool: beam-metal, place: 0, rdma_devices: 7}]")
    cloud = Operations(simulation)
    build_metal(cloud)
    return cloud


@pytest.fixture(scope="module")
def api(simulation: Simulation) -> ApiServer:
    return simulation.api()


def devices(api: ApiServer) -> list[int]:
    slices = api.items(api.kind("resource.k8s.io/v1", "ResourceSlice"))
    return sorted(len(item["spec"]["devices"]) for item in slices)


def pods(api: ApiServer, app: str, namespace: str = "default") -> list[dict[str, Any]]:
    return api.items(PODS, selector=f"app%3D{app}", namespace=namespace)


def hosts(items: list[dict[str, Any]]) -> set[str]:
    return {item["spec"]["nodeName"] for item in items if item["spec"].get("nodeName")}


def complaints(items: list[dict[str, Any]]) -> list[str]:
    """What the scheduler says of pods it could not place."""
    return [
        condition["message"]
        for item in items
        for condition in item.get("status", {}).get("conditions", [])
        if condition["type"] == "PodScheduled" and condition["status"] == "False"
    ]


@pytest.mark.usefixtures("cloud")
def test_without_asapd_lite_no_interface_is_published(api: ApiServer) -> None:
    nodes = api.items(api.kind("v1", "Node"), selector="cloud.google.com/gke-nodepool%3Dbeam-metal")
    assert {node["status"]["allocatable"]["nvidia.com/gpu"] for node in nodes} == {"4"}
    assert {node["status"]["allocatable"]["hugepages-2Mi"] for node in nodes} == {"8Gi"}
    assert devices(api) == []


@pytest.mark.usefixtures("cloud")
def test_with_it_each_node_has_the_interfaces_that_come_up(api: ApiServer) -> None:
    api.apply(api.kind("apps/v1", "DaemonSet"), ASAPD)
    until(lambda: devices(api) == [7, *[8] * 7])


@pytest.mark.usefixtures("cloud")
def test_the_pod_that_finds_one_interface_too_few_stays_pending(api: ApiServer) -> None:
    api.apply(api.kind("resource.k8s.io/v1", "ResourceClaimTemplate"), CLAIM)
    for index in range(8):
        api.create(PODS, worker(index, [GPU, ARM]))
    until(lambda: len(hosts(pods(api, "worker"))) == 7 and len(complaints(pods(api, "worker"))) == 1)
    (complaint,) = complaints(pods(api, "worker"))
    assert "1 cannot allocate all claims" in complaint
    assert "7 Insufficient nvidia.com/gpu" in complaint


@pytest.mark.usefixtures("cloud")
def test_and_is_placed_once_the_interface_is_back(api: ApiServer, simulation: Simulation) -> None:
    (simulation.folder / FAULTS).unlink()
    until(lambda: devices(api) == [8] * 8)
    until(lambda: len(hosts(pods(api, "worker"))) == 8)


@pytest.mark.usefixtures("cloud")
def test_without_the_toleration_for_arm_nothing_is_placed(api: ApiServer) -> None:
    api.create(
        PODS, {**worker(8, [GPU]), "metadata": {"name": "x86", "namespace": "default", "labels": {"app": "x86"}}}
    )
    until(lambda: bool(complaints(pods(api, "x86"))))
    assert "8 node(s) had untolerated taint(s)" in complaints(pods(api, "x86"))[0]


def test_without_hugepages_asapd_lite_waits_and_takes_the_interfaces_with_it(cloud: Operations, api: ApiServer) -> None:
    cloud.update(POOL, METAL, inputs("metal", nodeConfig__linuxNodeConfig=None))
    until(lambda: len(complaints(pods(api, "asapd-lite", "kube-system"))) == 8)
    assert all("Insufficient hugepages-2Mi" in text for text in complaints(pods(api, "asapd-lite", "kube-system")))
    until(lambda: devices(api) == [])
