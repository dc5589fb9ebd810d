"""Google says no in view of the project, in its own words where they are known, and nothing is left behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from beamline.sandbox.cloud.errors import CloudError, CreatedButFailedError
from beamline.sandbox.cloud.inventory import PROJECT_FILE, read_inventory
from beamline.sandbox.cloud.kinds import KINDS
from beamline.sandbox.cloud.machines import machine, machine_names
from beamline.sandbox.cloud.operations import Operations
from beamline.sandbox.cloud.quota_metrics import metrics
from beamline.sandbox.cloud.quota_use import quota_uses
from beamline.sandbox.cloud.simulation import Simulation

from .samples import CLUSTER, CLUSTER_ID, POOL, SUB_BLOCK, build, build_metal, inputs, token, upto

CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "refusals.yaml").read_text())
_ON_THE_NETWORK = ["network", "nodes", "account"]
NEEDS = {
    "role": ["account"],
    "secret role": ["account"],
    "bucket role": ["account", "bucket"],
    "registry role": ["account"],
    "cluster": [*_ON_THE_NETWORK, "key role"],
    "system": [*_ON_THE_NETWORK, "cluster"],
    "gpus": [*_ON_THE_NETWORK, "cluster"],
    "metal": [*_ON_THE_NETWORK, "policy", "metal cluster", "network rights"],
}


def write(simulation: Simulation, project: dict[str, Any]) -> None:
    (simulation.folder / PROJECT_FILE).write_text(yaml.safe_dump(project))


@pytest.mark.parametrize("row", CASES, ids=lambda row: row["id"])
def test_google_says_no_and_its_smallest_good_twin_works(
    cloud: Operations, simulation: Simulation, row: dict[str, Any]
) -> None:
    for need in NEEDS.get(row["of"], []):
        if need not in row.get("without", []):
            cloud.create(token(need), inputs(need))
    before = simulation.ledger.everything()
    write(simulation, row.get("project", {}))
    with pytest.raises(CloudError) as caught:
        cloud.create(token(row["of"]), inputs(row["of"], **row.get("set", {})))
    assert row["says"] in str(caught.value)
    assert not isinstance(caught.value, CreatedButFailedError)
    assert simulation.ledger.everything() == before
    good = {**row, **row["good"]}
    write(simulation, good.get("project", {}))
    cloud.create(token(good["of"]), inputs(good["of"], **good.get("set", {})))


def test_a_pool_does_not_grow_over_a_quota(cloud: Operations, simulation: Simulation) -> None:
    """What the pool has already counts once."""
    build(cloud, *upto("system"), "system")
    write(simulation, {"quotas": [{"metric": "CPUS_PER_VM_FAMILY", "family": "N4", "limit": 12}]})
    path = f"{CLUSTER_ID}/nodePools/beam-system"
    cloud.update(POOL, path, inputs("system", nodeCount=3))
    with pytest.raises(CloudError, match=r"Error updating NodePool.*requires '16\.0' and is short '4\.0'"):
        cloud.update(POOL, path, inputs("system", nodeCount=4))


def test_the_use_of_quotas_follows_from_the_ledger(cloud: Operations, simulation: Simulation) -> None:
    build(cloud)
    write(simulation, {"quotas": [{"metric": "GPUS_PER_GPU_FAMILY", "family": "NVIDIA_H200", "limit": 8}]})
    found = {
        (use.quota.metric, use.quota.family): use.used for use in quota_uses(simulation, "us-central1") if use.used
    }
    assert found == {
        ("CPUS_PER_VM_FAMILY", "N4"): 8,
        ("GPUS_PER_GPU_FAMILY", "NVIDIA_RTX_PRO_6000"): 8,
        ("GPUS_ALL_REGIONS", ""): 8,
        ("LOCAL_SSD_TOTAL_GB_PER_VM_FAMILY", "G4"): 12000,
        ("HDB_TOTAL_GB", ""): 400,
        ("STATIC_ADDRESSES", ""): 1,
        ("NETWORKS", ""): 1,
        ("SUBNETWORKS", ""): 2,
        ("FIREWALLS", ""): 1,
        ("ROUTERS", ""): 1,
        ("RESOURCE_POLICIES", ""): 1,
    }
    unused = {(use.quota.metric, use.quota.family): use.quota.limit for use in quota_uses(simulation, "us-east4")}
    assert unused["GPUS_PER_GPU_FAMILY", "NVIDIA_H200"] == 8
    assert unused["NVIDIA_L4_GPUS", ""] == 512


def test_pools_share_the_machines_of_a_reservation(cloud: Operations, simulation: Simulation) -> None:
    build(cloud, *upto("cluster"), "cluster")
    name = "projects/beamline-sandbox-simulated-google/reservations/my-g4"
    row = {"name": name, "zone": "us-central1-b", "machine_type": "g4-standard-384", "count": 3}
    write(simulation, {"reservations": [row]})
    affinity = {
        "consumeReservationType": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": ["my-g4"],
    }
    cloud.create(POOL, inputs("gpus", nodeCount=2, nodeConfig__reservationAffinity=affinity))
    second = inputs("gpus", name="second", nodeCount=2, nodeConfig__reservationAffinity=affinity)
    with pytest.raises(CloudError, match=r"required 2 and short of 1 VM count.*it has 3, 2 of them in use"):
        cloud.create(POOL, second)
    cloud.create(POOL, {**second, "nodeCount": 1})


def test_a_sub_block_has_the_hosts_the_project_says(cloud: Operations, simulation: Simulation) -> None:
    """A broken host shows late, as it does at Google: the pool exists and is short of a node."""
    parts = [{"name": "sub-block-1", "hosts": 18, "healthy_hosts": 17}, {"name": "sub-block-2", "hosts": 18}]
    reservation = {
        "name": "projects/my-project/reservations/my-gb300",
        "zone": "us-central1-b",
        "machine_type": "a4x-maxgpu-4g-metal",
        "shared_with": [simulation.project],
        "blocks": [{"name": "block-1", "sub_blocks": parts}],
    }
    write(simulation, {"reservations": [reservation]})
    with pytest.raises(CreatedButFailedError, match=r"Expected 18, running 17.*18 hosts: 17 healthy"):
        build_metal(cloud, nodeCount=18)
    whole = [SUB_BLOCK.replace("sub-block-1", "sub-block-2")]
    cloud.create(POOL, inputs("metal", name="whole", nodeCount=18, nodeConfig__reservationAffinity__values=whole))


def test_a_control_plane_goes_only_to_a_version_that_is_offered(cloud: Operations, simulation: Simulation) -> None:
    build(cloud, *upto("cluster"), "cluster")
    row = {"channel": "REGULAR", "default": "1.36.1-gke.1", "masters": ["1.36.1-gke.1"]}
    write(simulation, {"other_versions": "refused", "versions": [row]})
    cloud.update(CLUSTER, CLUSTER_ID, inputs("cluster", resourceLabels={"a": "b"}))  # it stays where it is
    with pytest.raises(CloudError, match="Master version must be one of"):
        cloud.update(CLUSTER, CLUSTER_ID, inputs("cluster", minMasterVersion="1.36.0-gke.1"))
    record = cloud.update(CLUSTER, CLUSTER_ID, inputs("cluster", minMasterVersion="1.36.1-gke.1"))
    assert record.outputs["masterVersion"] == "1.36.1-gke.1"


@pytest.mark.parametrize("operation", ["read", "update", "delete"])
def test_an_api_that_went_off_stops_everything(cloud: Operations, simulation: Simulation, operation: str) -> None:
    record = build(cloud, "network")["network"]
    write(simulation, {"apis": {"compute.googleapis.com": False}})
    arguments = [record.type, record.id, *([inputs("network")] if operation == "update" else [])]
    with pytest.raises(CloudError, match="Compute Engine API has not been used in project"):
        getattr(cloud, operation)(*arguments)
    write(simulation, {})
    getattr(cloud, operation)(*arguments)


def test_every_machine_with_gpus_counts_towards_one_quota_of_its_family() -> None:
    found: dict[tuple[str, str], list[str]] = {}
    for name in machine_names():
        made = machine(name)
        assert made is not None
        for capacity, sold in (("standard", True), ("preemptible", made.family.spot or made.family.flex_start)):
            if made.gpus and sold:
                found[name, capacity] = [
                    metric.name
                    for metric in metrics().values()
                    if metric.counts == "gpus" and metric.scope == "region" and metric.capacity == capacity
                    if made.family.gpu in metric.of_gpus
                    or (metric.dimension and made.family.name not in metric.not_families)
                ]
    assert {case: names for case, names in found.items() if len(names) != 1} == {}
    limited = {quota.metric for quota in read_inventory(Path("nowhere")).quotas}
    assert set(metrics()) == limited


def test_every_type_has_an_api_and_permissions() -> None:
    access = Path(__file__).parents[2] / "beamline" / "sandbox" / "cloud" / "access.yaml"
    raw = yaml.safe_load(access.read_text())
    assert set(raw["types"]) == set(KINDS)
    assert {row["api"] for row in raw["types"].values()} == set(raw["apis"])
