"""The simulation's own data: machines, regions, properties, input types, ownership."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

import beamline.sandbox.cloud
from beamline.crds import installed_by_gke, installed_by_kit
from beamline.sandbox.cloud.allocatable import node_resources
from beamline.sandbox.cloud.kinds import KINDS
from beamline.sandbox.cloud.machines import Machine, machine, machine_names, region_of, zone_names
from beamline.sandbox.cloud.ownership import installed_objects, ownership
from beamline.sandbox.cloud.versions import GkeVersion, below_floor

from . import sdk_inputs
from .samples import inputs

FOLDER = Path(beamline.sandbox.cloud.__file__).parent


def test_input_types_are_those_of_the_installed_sdk() -> None:
    """After an SDK upgrade: python -m tests.cloud.sdk_inputs > beamline/sandbox/cloud/inputs.json."""
    assert (FOLDER / "inputs.json").read_text() == sdk_inputs.text()


def test_every_property_rule_names_an_input_of_its_type() -> None:
    """A rule for a property that does not exist would silently never apply."""
    types = json.loads((FOLDER / "inputs.json").read_text())
    rules = yaml.safe_load((FOLDER / "properties.yaml").read_text())
    assert set(rules) == set(KINDS)
    for token, row in rules.items():
        for path in [*row["replace"], *row.get("defaults", {}), *row.get("unordered", [])]:
            definition = types["resources"][token]
            for part in path.split("."):
                assert part in definition["fields"], f"{token}: {path}"
                field = definition["fields"][part]
                while isinstance(field, dict) and "list" in field:
                    field = field["list"]
                definition = types["objects"][field["object"]] if isinstance(field, dict) and "object" in field else {}


@pytest.mark.parametrize("name", machine_names())
def test_machines_are_complete(name: str) -> None:
    made = machine(name)
    assert made is not None
    family = made.family
    assert made.vcpus > 0
    assert made.memory_gib > 0
    assert family.boot_disks
    assert bool(made.gpus) is bool(family.gpu) is bool(family.driver_s)
    assert bool(family.local_ssd_gib) or made.local_ssds == (0,)
    for region, letters in (family.zones or {}).items():
        assert region_of(region) == region
        assert set(letters) <= {zone.rpartition("-")[2] for zone in zone_names(region)}


def test_places() -> None:
    assert region_of("us-central1") == "us-central1"
    assert region_of("us-central1-f") == "us-central1"
    assert region_of("us-central1-z") == "us-central1"
    assert region_of("us-central") is None
    assert region_of("moon-base1-a") is None


@pytest.mark.parametrize(
    ("vcpus", "memory_gib", "capacity_ki", "allocatable_ki", "cpu"),
    [
        (4, 32, 32880872, 29085928, "3920m"),
        (16, 128, 131919220, 122210676, "15890m"),
        (64, 512, 528365196, 510603916, "63770m"),
    ],
)
def test_allocatable_is_what_real_nodes_report(
    vcpus: int, memory_gib: int, capacity_ki: int, allocatable_ki: int, cpu: str
) -> None:
    """n2-highmem nodes of GKE 1.25 with 100 GB boot disks: 2i2c-org/infrastructure issue 2121 (2023-03-12)."""
    n2 = machine("n2-standard-2")
    assert n2 is not None
    made = Machine("n2-highmem", n2.family, vcpus, memory_gib)
    found = node_resources(made, boot_disk_gib=100, ephemeral_ssds=0, max_pods=110, hugepages={})
    assert found.allocatable["cpu"] == cpu
    assert int(found.capacity["memory"].removesuffix("Ki")) == pytest.approx(capacity_ki, rel=0.001)
    assert int(found.allocatable["memory"].removesuffix("Ki")) == pytest.approx(allocatable_ki, rel=0.001)
    assert int(found.capacity["ephemeral-storage"].removesuffix("Ki")) == pytest.approx(98831908, rel=0.001)
    assert int(found.allocatable["ephemeral-storage"]) == pytest.approx(47060071478, rel=0.001)


@pytest.mark.parametrize(("ssds", "reserved_gib"), [(1, 50), (2, 75), (4, 100), (32, 100)])
def test_local_ssd_behind_ephemeral_storage(ssds: int, reserved_gib: int) -> None:
    """A tenth is kept for eviction, and 50, 75 or 100 GiB for the system (GKE docs)."""
    made = machine("g4-standard-384")
    assert made is not None
    found = node_resources(made, boot_disk_gib=200, ephemeral_ssds=ssds, max_pods=32, hugepages={})
    size = int(found.capacity["ephemeral-storage"].removesuffix("Ki")) * 1024
    assert size == pytest.approx(ssds * 375 * 2**30, rel=0.02)
    assert int(found.allocatable["ephemeral-storage"]) == pytest.approx(0.9 * size - reserved_gib * 2**30, rel=1e-6)
    assert found.allocatable["nvidia.com/gpu"] == "8"
    assert found.allocatable["pods"] == "32"


def test_versions_are_compared_part_by_part() -> None:
    assert GkeVersion.parse("1.35.10-gke.1") > GkeVersion.parse("1.35.9-gke.2")
    assert str(GkeVersion.parse("1.35.8-gke.1036000")) == "1.35.8-gke.1036000"
    for text in ("1.35", "latest", "1.35.8", "v1.35.8-gke.1", "1.35.8-gke.1036000 "):
        with pytest.raises(ValueError, match="is not an exact GKE version"):
            GkeVersion.parse(text)


@pytest.mark.parametrize(
    ("version", "missed"),
    [
        ("1.34.3-gke.1318000", None),
        ("1.34.3-gke.1317999", "1.34.3-gke.1318000"),
        ("1.35.0-gke.2744999", "1.35.0-gke.2745000"),
        ("1.35.0-gke.2745000", None),
        ("1.33.9-gke.9999999", "1.34.3-gke.1318000"),
        ("1.36.0-gke.1", None),
    ],
)
def test_a_floor_counts_within_its_minor(version: str, missed: str | None) -> None:
    """A patch of a newer minor can be older than the floor of the minor before, and lack the feature."""
    floors = [GkeVersion.parse("1.35.0-gke.2745000"), GkeVersion.parse("1.34.3-gke.1318000")]
    found = below_floor(GkeVersion.parse(version), floors)
    assert (str(found) if found else None) == missed


def test_every_object_has_one_owner_and_every_owned_object_a_manifest() -> None:
    rows = ownership()
    assert len({(row.kind, row.name) for row in rows}) == len(rows)
    assert all(row.source for row in rows)
    everything = {(row.kind, row.name) for row in rows if row.owner == "GKE"}
    all_on = inputs(
        "cluster",
        secretManagerConfig={"enabled": True},
        addonsConfig__gcsFuseCsiDriverConfig={"enabled": True},
        podAutoscaling={"hpaProfile": "PERFORMANCE"},
    )
    installed = installed_objects(all_on, GkeVersion.parse("1.36.0-gke.1"))
    assert {(manifest["kind"], manifest["metadata"]["name"]) for manifest in installed} == everything
    definitions = {row.name for row in rows if row.kind == "CustomResourceDefinition" and row.owner == "GKE"}
    assert definitions == {definition.name for definition in installed_by_gke()}
    assert {row.name for row in rows if row.owner == "kit"} == {definition.name for definition in installed_by_kit()}


def test_gke_installs_by_setting_and_version() -> None:
    def names(version: str, **changes: object) -> set[str]:
        found = installed_objects(inputs("cluster", **changes), GkeVersion.parse(version))
        return {manifest["metadata"]["name"] for manifest in found}

    pool = "inferencepools.inference.networking.k8s.io"
    assert pool in names("1.34.0-gke.1626000")
    assert pool not in names("1.34.0-gke.1625999")
    assert pool not in names("1.35.8-gke.1036000", gatewayApiConfig=None)
    assert "gke-l7-rilb" not in names("1.35.8-gke.1036000", gatewayApiConfig=None)
    assert "podmonitorings.monitoring.googleapis.com" in names("1.35.8-gke.1036000", monitoringConfig=None)
    off = names("1.35.8-gke.1036000", monitoringConfig__managedPrometheus={"enabled": False})
    assert "podmonitorings.monitoring.googleapis.com" not in off
    assert "gmp-system" not in off
    gauges, profile = "autoscalingmetrics.autoscaling.gke.io", {"hpaProfile": "PERFORMANCE"}
    assert gauges not in names("1.35.8-gke.1036000")
    assert gauges in names("1.35.1-gke.1396000", podAutoscaling=profile)
    assert gauges not in names("1.35.1-gke.1395999", podAutoscaling=profile)
    secrets = "secretproviderclasses.secrets-store.csi.x-k8s.io"
    assert secrets not in names("1.35.8-gke.1036000")
    assert secrets in names("1.35.8-gke.1036000", secretManagerConfig={"enabled": True})
    assert "gke-managed-networking-dra-driver" not in names("1.34.3-gke.1318000")
