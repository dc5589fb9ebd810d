"""Bare metal with an NVLink domain: what GKE refuses, the nodes it brings, and the hosts that pools share."""

from __future__ import annotations

import json
from typing import Any

import pytest

from beamline.sandbox.cloud.errors import CloudError, CreatedButFailedError
from beamline.sandbox.cloud.faults import FAULTS
from beamline.sandbox.cloud.ledger import State
from beamline.sandbox.cloud.operations import Operations
from beamline.sandbox.cloud.simulation import Simulation

from .fake_api import FakeApi
from .samples import CLUSTER, CLUSTER_ID, POLICY, POOL, PROJECT, SUB_BLOCK, build, build_metal, inputs, token, upto

METAL = f"{CLUSTER_ID}/nodePools/beam-metal"
POLICY_ID = f"projects/{PROJECT}/regions/us-central1/resourcePolicies/beam-domain"
GPU = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
ARM = {"key": "kubernetes.io/arch", "value": "arm64", "effect": "NoSchedule"}
TOPOLOGY = "cloud.google.com/gce-topology-"


def nodes(api: FakeApi, pool: str = "beam-metal") -> list[dict[str, Any]]:
    items = [item for item in api.objects.values() if item["kind"] == "Node"]
    return [item for item in items if item["metadata"]["labels"]["cloud.google.com/gke-nodepool"] == pool]


def resources(node: dict[str, Any], which: str) -> dict[str, str]:
    found: dict[str, str] = json.loads(node["metadata"]["annotations"][f"sandbox.beamline.dev/{which}"])
    return found


def test_a_metal_node_whole(cloud: Operations, api: FakeApi) -> None:
    """Only labels GKE sets: none of NVIDIA's feature discovery, which GKE does not run."""
    build_metal(cloud, nodeCount=1)
    (node,) = nodes(api)
    name, labels = node["metadata"]["name"], node["metadata"]["labels"]
    places = {key: labels.pop(key) for key in list(labels) if key.startswith(TOPOLOGY)}
    assert sorted(places) == [f"{TOPOLOGY}block", f"{TOPOLOGY}host", f"{TOPOLOGY}subblock"]
    assert labels == {
        "beta.kubernetes.io/arch": "arm64",
        "beta.kubernetes.io/instance-type": "a4x-maxgpu-4g-metal",
        "beta.kubernetes.io/os": "linux",
        "cloud.google.com/gke-accelerator": "nvidia-gb300",
        "cloud.google.com/gke-boot-disk": "hyperdisk-balanced",
        "cloud.google.com/gke-container-runtime": "containerd",
        "cloud.google.com/gke-cpu-scaling-level": "144",
        "cloud.google.com/gke-dpv2-unified-cni": "cni-migration",
        "cloud.google.com/gke-ephemeral-storage-local-ssd": "true",
        "cloud.google.com/gke-gpu-driver-version": "latest",
        "cloud.google.com/gke-logging-variant": "DEFAULT",
        "cloud.google.com/gke-max-pods-per-node": "32",
        "cloud.google.com/gke-memory-gb-scaling-level": "960",
        "cloud.google.com/gke-networking-dra-driver": "true",
        "cloud.google.com/gke-nodepool": "beam-metal",
        "cloud.google.com/gke-os-distribution": "cos",
        "cloud.google.com/gke-provisioning": "standard",
        "cloud.google.com/gke-stack-type": "IPV4",
        "cloud.google.com/machine-family": "a4x",
        "cloud.google.com/private-node": "true",
        "failure-domain.beta.kubernetes.io/region": "us-central1",
        "failure-domain.beta.kubernetes.io/zone": "us-central1-b",
        "gke.networks.io/accelerator-network-profile": "auto",
        "iam.gke.io/gke-metadata-server-enabled": "true",
        "kubernetes.io/arch": "arm64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "a4x-maxgpu-4g-metal",
        "topology.gke.io/zone": "us-central1-b",
        "topology.kubernetes.io/region": "us-central1",
        "topology.kubernetes.io/zone": "us-central1-b",
    }
    assert node["spec"]["taints"] == [GPU, ARM]
    assert node["status"]["nodeInfo"]["architecture"] == "arm64"
    assert resources(node, "capacity") == {
        "cpu": "144",
        "ephemeral-storage": "12381585408Ki",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "8192Mi",
        "memory": "990740480Ki",
        "nvidia.com/gpu": "4",
        "pods": "32",
    }


def test_memory_is_what_an_operators_node_reports(cloud: Operations, api: FakeApi) -> None:
    """942 GiB, about 909 of them allocatable beside 8 GiB of hugepages (notes of an operator of GB300, 2026-07)."""
    build_metal(cloud, nodeCount=1)
    found = {
        which: int(resources(nodes(api)[0], which)["memory"].removesuffix("Ki")) / 2**20
        for which in ("capacity", "allocatable")
    }
    assert found == {"capacity": pytest.approx(942, rel=0.004), "allocatable": pytest.approx(909, rel=0.004)}


def test_nodes_stand_in_one_sub_block_and_each_on_a_host_of_its_own(cloud: Operations, api: FakeApi) -> None:
    build_metal(cloud)
    labels = [node["metadata"]["labels"] for node in nodes(api)]
    assert len(labels) == 8
    assert len({entry[f"{TOPOLOGY}block"] for entry in labels}) == 1
    assert len({entry[f"{TOPOLOGY}subblock"] for entry in labels}) == 1
    assert len({entry[f"{TOPOLOGY}host"] for entry in labels}) == 8


def test_sub_blocks_of_a_block_are_told_apart(cloud: Operations, api: FakeApi) -> None:
    build_metal(cloud, nodeCount=1)
    values = [SUB_BLOCK.replace("sub-block-1", "sub-block-2")]
    cloud.create(POOL, inputs("metal", name="second", nodeCount=1, nodeConfig__reservationAffinity__values=values))
    first, second = (nodes(api, pool)[0]["metadata"]["labels"] for pool in ("beam-metal", "second"))
    assert first[f"{TOPOLOGY}block"] == second[f"{TOPOLOGY}block"]
    assert first[f"{TOPOLOGY}subblock"] != second[f"{TOPOLOGY}subblock"]


def test_the_architecture_taint_can_be_switched_off_in_place(cloud: Operations, api: FakeApi) -> None:
    record = build_metal(cloud, nodeCount=1)
    assert [taint["key"] for taint in record.outputs["nodeConfig"]["effectiveTaints"]] == [GPU["key"], ARM["key"]]
    before = api.names("Node")
    cloud.update(
        POOL, METAL, inputs("metal", nodeCount=1, nodeConfig__taintConfig={"architectureTaintBehavior": "NONE"})
    )
    assert nodes(api)[0]["spec"]["taints"] == [GPU]
    assert api.names("Node") == before


@pytest.mark.parametrize(
    ("blocks", "label", "size_gib"),
    [
        ({"localNvmeSsdBlockConfig": {"localSsdCount": 4}}, "gke-local-nvme-ssd", 200),
        ({}, "gke-ephemeral-storage-local-ssd", 12000),
        ({"ephemeralStorageLocalSsdConfig": {"localSsdCount": 4}}, "gke-ephemeral-storage-local-ssd", 12000),
    ],
)
def test_the_disks_of_the_machine_are_there_asked_for_or_not(
    cloud: Operations, api: FakeApi, blocks: dict[str, Any], label: str, size_gib: int
) -> None:
    changes: dict[str, Any] = {"nodeConfig__ephemeralStorageLocalSsdConfig": None}
    build_metal(cloud, nodeCount=1, **changes | {f"nodeConfig__{key}": value for key, value in blocks.items()})
    (node,) = nodes(api)
    assert [key for key in node["metadata"]["labels"] if key.endswith("-ssd")] == [f"cloud.google.com/{label}"]
    size = int(resources(node, "capacity")["ephemeral-storage"].removesuffix("Ki")) / 2**20
    assert size == pytest.approx(size_gib, rel=0.05)


def test_without_hugepages_a_node_has_none(cloud: Operations, api: FakeApi) -> None:
    """GKE takes the pool; the symptom is a Pending asapd-lite, which asks for them."""
    build_metal(cloud, nodeCount=1, nodeConfig__linuxNodeConfig=None)
    assert resources(nodes(api)[0], "allocatable")["hugepages-2Mi"] == "0"


def test_networks_beside_the_clusters_are_multi_networkings(cloud: Operations) -> None:
    """The cluster has it, and every network and subnetwork is there, before GKE makes a node."""
    build(cloud, *upto("cluster"))
    second = {"networkConfig": {"additionalNodeNetworkConfigs": [{"network": "second", "subnetwork": "second-nodes"}]}}
    cloud.create(CLUSTER, inputs("cluster"))
    with pytest.raises(CloudError, match="need a cluster with multi-networking"):
        cloud.create(POOL, inputs("gpus", **second))
    cloud.update(CLUSTER, CLUSTER_ID, inputs("cluster", enableMultiNetworking=True))
    with pytest.raises(CloudError, match="global/networks/second' was not found"):
        cloud.create(POOL, inputs("gpus", **second))
    cloud.create(token("network"), inputs("network", name="second"))
    with pytest.raises(CloudError, match="regions/us-central1/subnetworks/second-nodes' was not found"):
        cloud.create(POOL, inputs("gpus", **second))
    cloud.create(token("nodes"), inputs("nodes", name="second-nodes", network="second", secondaryIpRanges=None))
    cloud.create(POOL, inputs("gpus", **second))


@pytest.mark.parametrize(
    ("cluster", "pool", "says"),
    [
        ({"enableShieldedNodes": None}, {}, "Shielded GKE nodes are not supported on a4x-maxgpu-4g-metal"),
        ({"enableShieldedNodes": True}, {}, "Shielded GKE nodes are not supported on a4x-maxgpu-4g-metal"),
        ({"datapathProvider": None}, {}, "needs GKE Dataplane V2"),
        ({"enableMultiNetworking": True}, {}, "cannot be used in a cluster with multi-networking"),
        ({"nodeLocations": ["us-central1-b", "us-central1-c"]}, {"nodeLocations": None}, "lies in one zone"),
        ({}, {"placementPolicy": {"type": "COMPACT"}}, "the pool names no policy (placementPolicy.policyName)"),
        ({}, {"placementPolicy__policyName": "other"}, "resourcePolicies/other' was not found, notFound"),
    ],
)
def test_a_pool_needs_a_cluster_that_can_take_it(
    cloud: Operations, cluster: dict[str, Any], pool: dict[str, Any], says: str
) -> None:
    build(cloud, *upto("cluster"))
    cloud.create(CLUSTER, inputs("metal cluster", **cluster))
    with pytest.raises(CloudError) as caught:
        cloud.create(POOL, inputs("metal", **pool))
    assert says in str(caught.value)
    assert cloud.simulation.ledger.find(POOL, METAL) is None


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        (
            {"workloadPolicy": None, "groupPlacementPolicy": {"collocation": "COLLOCATED"}},
            "is a group placement policy",
        ),
        ({"workloadPolicy__acceleratorTopology": "1x64"}, "has HIGH_THROUGHPUT and 1x64"),
        ({"workloadPolicy__acceleratorTopology": None}, "has HIGH_THROUGHPUT and no accelerator topology"),
        ({"workloadPolicy__type": "HIGH_AVAILABILITY"}, "has HIGH_AVAILABILITY and 1x72"),
    ],
)
def test_only_the_workload_policy_of_the_whole_domain_places_a_pool(
    cloud: Operations, policy: dict[str, Any], says: str
) -> None:
    build(cloud, *(name for name in upto("cluster") if name != "policy"))
    cloud.create(POLICY, inputs("policy", **policy))
    cloud.create(CLUSTER, inputs("metal cluster"))
    with pytest.raises(CloudError) as caught:
        cloud.create(POOL, inputs("metal"))
    assert "HIGH_THROUGHPUT with accelerator topology 1x72" in str(caught.value)
    assert says in str(caught.value)


def test_shielded_nodes_cannot_come_back_under_metal(cloud: Operations) -> None:
    build_metal(cloud, nodeCount=1)
    with pytest.raises(CloudError, match="Shielded GKE nodes are not supported"):
        cloud.update(CLUSTER, CLUSTER_ID, inputs("cluster"))
    cloud.delete(POOL, METAL)
    cloud.update(CLUSTER, CLUSTER_ID, inputs("cluster"))


def test_a_policy_in_use_stays(cloud: Operations) -> None:
    build_metal(cloud, nodeCount=1)
    with pytest.raises(CloudError, match=f"is already being used by '{METAL}'"):
        cloud.delete(POLICY, POLICY_ID)
    cloud.delete(POOL, METAL)
    cloud.delete(POLICY, POLICY_ID)
    assert cloud.read(POLICY, POLICY_ID) is None


@pytest.mark.parametrize("name", ["policy", "metal cluster", "metal"])
def test_reading_gives_what_creating_gave(cloud: Operations, name: str) -> None:
    build_metal(cloud)
    record = next(r for r in cloud.simulation.ledger.everything() if (r.type, r.inputs) == (token(name), inputs(name)))
    found = cloud.read(record.type, record.id)
    assert found is not None
    assert (found.inputs, found.outputs, found.state) == (record.inputs, record.outputs, State.RUNNING)


@pytest.mark.parametrize(
    "name", [SUB_BLOCK, "projects/your-project-id/reservations/your-reservation", "your-reservation"]
)
def test_pools_of_one_reservation_share_eighteen_hosts(cloud: Operations, api: FakeApi, name: str) -> None:
    """GKE makes the nodes it can and leaves the pool in error, as it does with a degraded sub-block."""
    build_metal(cloud, nodeConfig__reservationAffinity__values=[name])
    more = inputs("metal", name="more", nodeCount=12, nodeConfig__reservationAffinity__values=[name])
    with pytest.raises(CreatedButFailedError) as caught:
        cloud.create(POOL, more)
    assert "Not all instances running in IGM. Expected 12, running 10. Current errors: [GCE_STOCKOUT]: 2 nodes " in str(
        caught.value
    )
    assert "18 hosts: 18 healthy, 8 in use by node pool beam-metal" in str(caught.value)
    assert (len(nodes(api)), len(nodes(api, "more"))) == (8, 10)
    cloud.update(POOL, f"{CLUSTER_ID}/nodePools/more", {**more, "nodeCount": 10})
    with pytest.raises(CreatedButFailedError, match="Expected 9, running 8"):
        cloud.update(POOL, METAL, inputs("metal", nodeCount=9, nodeConfig__reservationAffinity__values=[name]))


def test_a_pool_that_goes_gives_its_hosts_back(cloud: Operations, api: FakeApi) -> None:
    build_metal(cloud, nodeCount=18)
    cloud.delete(POOL, METAL)
    cloud.create(POOL, inputs("metal", nodeCount=18))
    assert len(nodes(api)) == 18


def test_of_two_pools_that_come_at_once_the_first_gets_the_hosts(
    cloud: Operations, simulation: Simulation, api: FakeApi
) -> None:
    build_metal(cloud, nodeCount=1)
    cloud.delete(POOL, METAL)
    simulation.interrupted.set()  # both are entered before either has nodes
    for name in ("first", "second"):
        cloud.create(POOL, inputs("metal", name=name, nodeCount=12))
    simulation.interrupted.clear()
    with pytest.raises(CreatedButFailedError, match="Expected 12, running 6"):
        cloud.read(POOL, f"{CLUSTER_ID}/nodePools/second")
    cloud.read(POOL, f"{CLUSTER_ID}/nodePools/first")
    assert (len(nodes(api, "first")), len(nodes(api, "second"))) == (12, 6)


def test_a_degraded_sub_block_has_fewer_hosts(cloud: Operations, simulation: Simulation, api: FakeApi) -> None:
    (simulation.folder / FAULTS).write_text(f"sub_blocks: [{{name: {SUB_BLOCK}, healthy_hosts: 6}}]")
    with pytest.raises(CreatedButFailedError, match=r"Expected 8, running 6.*\[GCE_STOCKOUT\].*18 hosts: 6 healthy"):
        build_metal(cloud)
    assert len(nodes(api)) == 6
    (simulation.folder / FAULTS).unlink()
    cloud.update(POOL, METAL, inputs("metal"))
    assert len(nodes(api)) == 8


@pytest.mark.parametrize(("count", "fits"), [(17, True), (18, False)])
def test_a_surge_needs_a_host_of_its_own(cloud: Operations, api: FakeApi, count: int, fits: bool) -> None:
    """A full sub-block has no spare host for the additional node, so an upgrade by surge gets nowhere."""
    surge: dict[str, Any] = {"nodeCount": count, "upgradeSettings": {"maxSurge": 1, "maxUnavailable": 0}}
    build_metal(cloud, **surge, version="1.35.7-gke.1")
    before = set(api.names("Node"))
    if fits:
        cloud.update(POOL, METAL, inputs("metal", **surge))
        assert len(nodes(api)) == count
        return
    with pytest.raises(CreatedButFailedError, match=r"Expected 19, running 18.*1 node cannot be created"):
        cloud.update(POOL, METAL, inputs("metal", **surge))
    assert set(api.names("Node")) == before
