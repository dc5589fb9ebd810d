"""The kit's hardware catalog and the simulated cloud's own machine table were written apart and say the same.

Where they differ one of the two is wrong, and this is the cheapest place to find out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from beamline.sandbox.cloud.machines import machine
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
        "reservations only": set(gke["provisioning"]) == {"reservation"},
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
        "reservations only": not made.family.on_demand,
        "attached SSDs": bool(made.bundled_ssds),
    }
    offered = {"spot": made.family.spot, "flex_start": made.family.flex_start, "on_demand": made.family.on_demand}
    assert [kind for kind in gke["provisioning"] if not offered.get(kind, True)] == []
    if ssd.get("count"):
        assert ssd["size_gib"] == made.family.local_ssd_gib


@pytest.mark.parametrize("path", [row for row in ROWS if row.parent.name == "hardware"], ids=lambda path: path.stem)
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
        "rdma devices": fabric["rdma_devices"],
        "taints": {taint.partition("=")[0] for taint in row["gke"]["taints"]},
    } == {
        "hosts": domain.hosts if domain else 1,
        "topology": domain.topology if domain else None,
        "profiles": set(made.family.network_profiles),
        "rdma devices": made.family.rdma_devices,
        "taints": {taint["key"] for taint in (GPU_TAINT, architecture_taint(made, {})) if taint},
    }
