"""The end of a drain: when a pool that was emptied goes, no engine pod changes, or it would start again for nothing."""

from __future__ import annotations

from typing import Any

import pytest

from manifests import render
from tests.manifests.cases import resolved

GREEN = {
    "machine_type": "g4-standard-384",
    "nodes": 1,
    "boot_disk_gb": 200,
    "provisioning": {"kind": "on_demand"},
}
STORAGES: dict[str, dict[str, Any]] = {
    "local_ssd": {},
    "gcs_fuse": {},
    "hyperdisk_ml": {"disk": "beam-weights", "throughput_mib_per_s": 2400},
}


def _engine_template(pools: dict[str, Any], storage: str) -> Any:
    overrides = {"accelerator_pools": pools, "model": {"storage": {"kind": storage, **STORAGES[storage]}}}
    spec = resolved("g4-llmd", overrides, [] if storage == "local_ssd" else [f"weights:{storage}"])
    (engine,) = [each.body for each in render(spec) if each.body["kind"] == "Deployment" and each.name == "engine"]
    return engine["spec"]["template"]


@pytest.mark.parametrize("storage", STORAGES)
def test_engines_stay_as_they_are_when_a_drained_pool_goes(storage: str) -> None:
    drained = _engine_template({"main": {"use": "draining"}, "green": GREEN}, storage)
    assert _engine_template({"main": None, "green": GREEN}, storage) == drained
