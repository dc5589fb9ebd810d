"""The kit's hardware catalog and the simulated cloud's own machine table were written apart and say the same.

Where they differ one of the two is wrong, and this is the cheapest place to find out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from beamline.sandbox.cloud.machines import machine
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
    }
    assert said == {
        "vcpus": made.vcpus,
        "memory": made.memory_gib,
        "gpu": made.family.gpu,
        "gpus": made.gpus,
        "boot disks": set(made.family.boot_disks) & set(gke["boot_disk_types"]),
        "floors": [str(floor) for floor in made.family.floors],
        "local SSDs": max(made.local_ssds),
    }
    if ssd.get("count"):
        assert ssd["size_gib"] == made.family.local_ssd_gib
