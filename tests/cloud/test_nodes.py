"""A node pool brings the Node objects that GKE's instances would register."""

from __future__ import annotations

import json
from typing import Any

import pytest

from beamline.sandbox.cloud.operations import Operations

from .fake_api import FakeApi
from .samples import CLUSTER_ID, POOL, PROJECT, build, inputs, token, upto

GPUS = f"{CLUSTER_ID}/nodePools/beam-gpus"


def nodes(api: FakeApi, pool: str) -> list[dict[str, Any]]:
    return [
        item
        for item in api.objects.values()
        if item["kind"] == "Node" and item["metadata"]["labels"]["cloud.google.com/gke-nodepool"] == pool
    ]


def test_a_gpu_node_whole(cloud: Operations, api: FakeApi) -> None:
    build(cloud)
    (node,) = nodes(api, "beam-gpus")
    name = node["metadata"]["name"]
    assert name.startswith("gke-beam-beam-gpus-")
    assert node["metadata"]["labels"] == {
        "beam/role": "decode",
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/instance-type": "g4-standard-384",
        "beta.kubernetes.io/os": "linux",
        "cloud.google.com/gke-accelerator": "nvidia-rtx-pro-6000",
        "cloud.google.com/gke-boot-disk": "hyperdisk-balanced",
        "cloud.google.com/gke-container-runtime": "containerd",
        "cloud.google.com/gke-cpu-scaling-level": "384",
        "cloud.google.com/gke-ephemeral-storage-local-ssd": "true",
        "cloud.google.com/gke-gpu-driver-version": "latest",
        "cloud.google.com/gke-logging-variant": "DEFAULT",
        "cloud.google.com/gke-max-pods-per-node": "32",
        "cloud.google.com/gke-memory-gb-scaling-level": "1440",
        "cloud.google.com/gke-nodepool": "beam-gpus",
        "cloud.google.com/gke-os-distribution": "cos",
        "cloud.google.com/gke-provisioning": "standard",
        "cloud.google.com/gke-stack-type": "IPV4",
        "cloud.google.com/machine-family": "g4",
        "cloud.google.com/private-node": "true",
        "failure-domain.beta.kubernetes.io/region": "us-central1",
        "failure-domain.beta.kubernetes.io/zone": "us-central1-b",
        "iam.gke.io/gke-metadata-server-enabled": "true",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "g4-standard-384",
        "topology.gke.io/zone": "us-central1-b",
        "topology.kubernetes.io/region": "us-central1",
        "topology.kubernetes.io/zone": "us-central1-b",
    }
    annotations = node["metadata"]["annotations"]
    assert sorted(annotations) == [
        "kwok.x-k8s.io/node",
        "sandbox.beamline.dev/allocatable",
        "sandbox.beamline.dev/boot-s",
        "sandbox.beamline.dev/capacity",
        "sandbox.beamline.dev/driver-s",
        "sandbox.beamline.dev/simulated",
    ]
    assert json.loads(annotations["sandbox.beamline.dev/capacity"]) == {
        "cpu": "384",
        "ephemeral-storage": "12381585408Ki",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "memory": "1486192640Ki",
        "nvidia.com/gpu": "8",
        "pods": "32",
    }
    assert node["spec"] == {
        "providerID": f"gce://{PROJECT}/us-central1-b/{name}",
        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
    }
    assert node["status"]["addresses"] == [
        {"type": "InternalIP", "address": "10.0.0.4"},
        {"type": "Hostname", "address": name},
    ]
    assert node["status"]["nodeInfo"]["kubeletVersion"] == "v1.35.8-gke.1036000"


def test_a_node_without_gpus_has_no_taint_and_no_driver(cloud: Operations, api: FakeApi) -> None:
    build(cloud)
    for node in nodes(api, "beam-system"):
        assert node["spec"]["taints"] == []
        assert "sandbox.beamline.dev/driver-s" not in node["metadata"]["annotations"]
        assert "cloud.google.com/gke-accelerator" not in node["metadata"]["labels"]


def test_gke_taints_gpu_nodes_only_beside_other_nodes_and_never_later(cloud: Operations, api: FakeApi) -> None:
    build(cloud, *upto("system"))
    record = cloud.create(POOL, inputs("gpus"))
    assert nodes(api, "beam-gpus")[0]["spec"]["taints"] == []
    cloud.create(POOL, inputs("system"))
    cloud.update(POOL, record.id, inputs("gpus", nodeCount=2))
    assert [node["spec"]["taints"] for node in nodes(api, "beam-gpus")] == [[], []]


def test_a_declared_taint_stands_once(cloud: Operations, api: FakeApi) -> None:
    build(cloud, *upto("gpus"))
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
    record = cloud.create(POOL, inputs("gpus", nodeConfig__taints=[taint]))
    expected = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    assert nodes(api, "beam-gpus")[0]["spec"]["taints"] == expected
    assert record.outputs["nodeConfig"]["effectiveTaints"] == [taint]


def test_spot_is_a_label_and_no_taint(cloud: Operations, api: FakeApi) -> None:
    build(cloud, *upto("system"))
    cloud.create(POOL, inputs("system", nodeConfig__spot=True))
    labels = nodes(api, "beam-system")[0]["metadata"]["labels"]
    assert labels["cloud.google.com/gke-spot"] == "true"
    assert labels["cloud.google.com/gke-provisioning"] == "spot"
    assert nodes(api, "beam-system")[0]["spec"]["taints"] == []


def test_a_flex_start_pool_starts_from_none(cloud: Operations, api: FakeApi) -> None:
    """No autoscaler is simulated, so that no node comes either."""
    build(cloud, *upto("gpus"))
    record = cloud.create(POOL, inputs("flex-start"))
    assert nodes(api, "beam-flex") == []
    assert record.outputs["nodeCount"] == 0


def test_without_a_driver_the_pool_is_done_when_its_nodes_are_up(cloud: Operations, api: FakeApi) -> None:
    """INSTALLATION_DISABLED: somebody else installs the driver, so GKE does not wait for GPUs."""
    build(cloud, *upto("gpus"))
    change = {
        "nodeConfig__guestAccelerators__0__gpuDriverInstallationConfig__gpuDriverVersion": "INSTALLATION_DISABLED"
    }
    cloud.create(POOL, inputs("gpus", **change))
    (node,) = nodes(api, "beam-gpus")
    assert "sandbox.beamline.dev/driver-s" not in node["metadata"]["annotations"]
    assert "cloud.google.com/gke-gpu-driver-version" not in node["metadata"]["labels"]


def test_addresses_are_distinct(cloud: Operations, api: FakeApi) -> None:
    build(cloud)
    found = [item["status"]["addresses"][0]["address"] for item in api.objects.values() if item["kind"] == "Node"]
    assert sorted(found) == ["10.0.0.2", "10.0.0.3", "10.0.0.4"]


def test_a_resize_keeps_the_nodes_that_stay(cloud: Operations, api: FakeApi) -> None:
    build(cloud)
    first = api.names("Node")
    cloud.update(POOL, GPUS, inputs("gpus", nodeCount=3))
    grown = api.names("Node")
    assert set(first) < set(grown)
    assert len(grown) == 5
    cloud.update(POOL, GPUS, inputs("gpus", nodeCount=1))
    assert api.names("Node") == first


def test_a_removed_node_takes_its_pods_with_it(cloud: Operations, api: FakeApi) -> None:
    build(cloud)
    (node,) = nodes(api, "beam-gpus")
    name = node["metadata"]["name"]
    for pod, host in (("here", name), ("there", "other")):
        api.objects[f"/api/v1/namespaces/default/pods/{pod}"] = {
            "kind": "Pod",
            "metadata": {"name": pod, "namespace": "default"},
            "spec": {"nodeName": host},
        }
    cloud.delete(POOL, GPUS)
    assert api.names("Pod") == ["there"]
    assert name not in api.names("Node")


@pytest.mark.parametrize(
    ("change", "field", "expected"),
    [
        ({"nodeConfig__labels": {"beam/role": "prefill"}}, "labels", "prefill"),
        ({"nodeConfig__labels": None}, "labels", None),
    ],
)
def test_labels_change_in_place(
    cloud: Operations, api: FakeApi, change: dict[str, Any], field: str, expected: str | None
) -> None:
    build(cloud)
    before = api.names("Node")
    cloud.update(POOL, GPUS, inputs("gpus", **change))
    assert api.names("Node") == before
    assert nodes(api, "beam-gpus")[0]["metadata"][field].get("beam/role") == expected


def test_taints_change_in_place_and_kubernetes_own_stay(cloud: Operations, api: FakeApi) -> None:
    build(cloud)
    (node,) = nodes(api, "beam-gpus")
    own = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    node["spec"]["taints"].append(own)
    taint = {"key": "only", "value": "beam", "effect": "NO_EXECUTE"}
    cloud.update(POOL, GPUS, inputs("gpus", nodeConfig__taints=[taint]))
    assert nodes(api, "beam-gpus")[0]["spec"]["taints"] == [
        {"key": "only", "value": "beam", "effect": "NoExecute"},
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
        own,
    ]


@pytest.mark.parametrize(("surge", "steps"), [(0, ["delete", "create"] * 2), (1, ["create", "delete"] * 2)])
def test_an_upgrade_replaces_nodes_one_by_one(cloud: Operations, api: FakeApi, surge: int, steps: list[str]) -> None:
    build(cloud, *upto("system"))
    old = {"version": "1.34.3-gke.1318000", "upgradeSettings": {"maxSurge": surge, "maxUnavailable": 1 - surge}}
    record = cloud.create(POOL, inputs("system", **old))
    before = api.names("Node")
    api.writes.clear()
    cloud.update(POOL, record.id, inputs("system", **{**old, "version": "1.35.8-gke.1036000"}))
    assert [write.split()[0] for write in api.writes] == steps
    assert not set(before) & set(api.names("Node"))
    assert {node["status"]["nodeInfo"]["kubeletVersion"] for node in nodes(api, "beam-system")} == {
        "v1.35.8-gke.1036000"
    }


def test_nothing_is_written_when_nothing_differs(cloud: Operations, api: FakeApi) -> None:
    build(cloud)
    api.writes.clear()
    cloud.update(POOL, GPUS, inputs("gpus"))
    assert api.writes == []


def test_several_zones_and_autoscaling(cloud: Operations, api: FakeApi) -> None:
    """NodeCount is per zone; an autoscaled pool stands at its minimum, since nothing here scales it."""
    build(cloud, *upto("system"))
    zones = ["us-central1-a", "us-central1-b", "us-central1-c"]
    record = cloud.create(POOL, inputs("system", nodeLocations=zones, nodeCount=1))
    assert len(api.names("Node")) == 3
    cloud.delete(POOL, record.id)
    scaling = {"totalMinNodeCount": 4, "totalMaxNodeCount": 9}
    cloud.create(token("system"), inputs("system", nodeLocations=zones, nodeCount=None, autoscaling=scaling))
    assert len(api.names("Node")) == 4
