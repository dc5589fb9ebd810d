"""The kit's hardware catalog and the simulated cloud's own machine table were written apart and say the same.

Where they differ one of the two is wrong, and this is the cheapest place to find out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from beamline.sandbox.cloud.kinds.node_configs import node_config_problems
from beamline.sandbox.cloud.machines import Family, machine
from beamline.sandbox.cloud.node_objects import GPU_TAINT, architecture_taint
from beamline.sandbox.home import CHECKOUT

CATALOG = CHECKOUT / "stacks" / "catalog"
ROWS = sorted([*(CATALOG / "hardware").glob("*.yaml"), *(CATALOG / "system").glob("*.yaml")])


@pytest.mark.parametrize("path", ROWS, ids=lambda path: path.stem)
def test_a_row_is_what_the_cloud_would_give(path: Path) -> None:
    row: dict[str, Any] = yaml.safe_load(path.read_text())
    made = machine(row["machine_type"])
    assert made is not None, f"the simulated cloud does not know {row['machine_type']}"
    gpu, ssd, gke = row.get("gpu", {}), row.get("local_ssd", {}), row["gke"]
    said = {
        "vcpus": row["machine"]["vcpus"],
        "memory": row["machine"]["memory_gb"],
        "gpu": gpu.get("accelerator_type", ""),
        "gpus": gpu.get("count", 0),
        "boot disks": set(gke["boot_disk_types"]),
        "floors": sorted(gke.get("min_version_by_minor", {}).values()) if made.family.floors else [],
        "local SSDs": ssd.get("count", 0),
        "arch": row["machine"]["arch"],
        "shielded nodes": gke.get("shielded_nodes", True),
        "periodic maintenance": gke.get("periodic_maintenance", False),
        "sold": set(gke["provisioning"]),
        "attached SSDs": ssd.get("attached_by_default", False),
    }
    assert said == {
        "vcpus": made.vcpus,
        "memory": made.memory_gib,
        "gpu": made.family.gpu,
        "gpus": made.gpus,
        "boot disks": set(made.family.boot_disks) & set(gke["boot_disk_types"]),
        "floors": [str(floor) for floor in made.family.floors],
        "local SSDs": max(made.local_ssds),
        "arch": made.family.arch,
        "shielded nodes": made.family.shielded_nodes,
        "periodic maintenance": made.family.periodic_maintenance,
        "sold": _sold(made.family) if gpu else _sold(made.family) & set(gke["provisioning"]),
        "attached SSDs": bool(made.bundled_ssds),
    }
    if ssd.get("count"):
        assert ssd["size_gib"] == made.family.local_ssd_gib


def _sold(family: Family) -> set[str]:
    ways = {
        "on_demand": family.on_demand,
        "spot": family.spot,
        "flex_start": family.flex_start,
        "reservation": family.reservations,
    }
    return {way for way, offered in ways.items() if offered}


HARDWARE = [row for row in ROWS if row.parent.name == "hardware"]


@pytest.mark.parametrize("path", HARDWARE, ids=lambda path: path.stem)
def test_a_fabric_is_what_the_cloud_would_give(path: Path) -> None:
    row: dict[str, Any] = yaml.safe_load(path.read_text())
    made, fabric = machine(row["machine_type"]), row["fabric"]
    assert made is not None
    domain, placement = made.family.nvlink_domain, fabric.get("placement") or {}
    profile = fabric.get("network_profile")
    assert {
        "hosts": fabric["nvlink_domain_nodes"],
        "topology": placement.get("accelerator_topology"),
        "profiles": {profile} - {None},
        "rdma devices": sum(nic["count"] for nic in row["network"]["nics"] if nic["driver"] == "mlx5"),
        "taints": {taint.partition("=")[0] for taint in row["gke"]["taints"]},
    } == {
        "hosts": domain.hosts if domain else 1,
        "topology": domain.topology if domain else None,
        "profiles": set(made.family.network_profiles),
        "rdma devices": made.family.rdma_devices,
        "taints": {taint["key"] for taint in (GPU_TAINT, architecture_taint(made, {})) if taint},
    }


@pytest.mark.parametrize("path", HARDWARE, ids=lambda path: path.stem)
def test_a_zone_without_a_warning_has_the_machine(path: Path) -> None:
    """The catalog's list is the shorter one: what it knows, the cloud does not refuse."""
    row: dict[str, Any] = yaml.safe_load(path.read_text())
    made = machine(row["machine_type"])
    assert made is not None
    for region, letters in row["locations"]["zones"].items():
        there = (made.family.zones or {}).get(region)
        assert there is not None, f"{region} has no {row['machine_type']}"
        assert not there or (letters and set(letters) <= set(there)), region


@pytest.mark.parametrize("path", HARDWARE, ids=lambda path: path.stem)
def test_local_ssd_can_be_had_in_every_mode_of_its_row(path: Path) -> None:
    """A pool with all disks as the row says is not refused for them, and no other way is taken."""
    row: dict[str, Any] = yaml.safe_load(path.read_text())
    blocks = {"ephemeral": "ephemeralStorageLocalSsdConfig", "raw_block": "localNvmeSsdBlockConfig"}
    for mode, block in blocks.items():
        config = {"machineType": row["machine_type"], block: {"localSsdCount": row["local_ssd"]["count"]}}
        refused = [p for p in node_config_problems(config, []) if p.path.startswith(block)]
        assert (refused == []) is (mode in row["local_ssd"]["modes"])
