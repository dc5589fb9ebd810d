"""Inputs are judged by themselves, before anything is created, and every mistake is reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from beamline.sandbox.cloud.operations import Operations
from beamline.sandbox.cloud.provider import check_inputs
from beamline.sandbox.cloud.values import UNKNOWN

from .samples import SAMPLES, inputs, token

CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "bad_inputs.yaml").read_text())


@pytest.mark.parametrize("name", SAMPLES)
def test_what_the_kit_writes_is_fine(cloud: Operations, name: str) -> None:
    assert check_inputs(token(name), inputs(name), cloud) == []


@pytest.mark.parametrize("row", CASES, ids=lambda row: f"{row['of']} {row['set']}")
def test_a_mistake_is_named_with_its_place(cloud: Operations, row: dict[str, Any]) -> None:
    found = check_inputs(token(row["of"]), inputs(row["of"], **row["set"]), cloud)
    assert [failure for failure in found if failure.path == row["at"] and row["says"] in failure.reason], found


def test_all_mistakes_are_reported_at_once(cloud: Operations) -> None:
    wrong = inputs(
        "gpus", nodeConfig__diskType="pd-ssd", nodeConfig__guestAccelerators__0__count=1, nodeCount=-1, name="Beam"
    )
    assert {failure.path for failure in check_inputs(token("gpus"), wrong, cloud)} == {
        "name",
        "nodeConfig.diskType",
        "nodeConfig.guestAccelerators[0].count",
        "nodeCount",
    }


def test_what_is_not_known_yet_is_no_mistake(cloud: Operations) -> None:
    """In a preview the ids of resources that do not exist are unknown, also for required inputs."""
    pool = inputs("gpus", cluster=UNKNOWN, nodeConfig__serviceAccount=UNKNOWN)
    subnetwork = inputs("nodes", network=UNKNOWN)
    assert check_inputs(token("gpus"), pool, cloud) == []
    assert check_inputs(token("nodes"), subnetwork, cloud) == []


def test_a_type_that_is_not_simulated_is_refused_by_name(cloud: Operations) -> None:
    (failure,) = check_inputs("gcp:sql/databaseInstance:DatabaseInstance", {}, cloud)
    assert "does not know the resource type gcp:sql/databaseInstance:DatabaseInstance" in failure.reason
    assert "gcp:container/cluster:Cluster" in failure.reason


@pytest.mark.parametrize("zone", ["us-central1-b", "us-central1-f", "europe-west1-c", "us-central1-z"])
def test_zones(cloud: Operations, zone: str) -> None:
    """A listed zone is fine; where only the region is known any of its zones is; a letter Google may yet add is not
    refused for machine types that are everywhere.
    """
    region = zone.rpartition("-")[0]
    wanted = inputs("gpus", location=region, nodeLocations=[zone])
    everywhere = inputs("system", location=region, nodeLocations=[zone])
    assert bool(check_inputs(token("gpus"), wanted, cloud)) is (zone == "us-central1-z")
    assert check_inputs(token("system"), everywhere, cloud) == []
