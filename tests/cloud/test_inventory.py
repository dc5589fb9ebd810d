"""The simulated project is what its file says, and the file is read strictly."""

from __future__ import annotations

from pathlib import Path

import pytest

from beamline.sandbox.cloud.errors import CloudError
from beamline.sandbox.cloud.inventory import (
    PROJECT_FILE,
    Inventory,
    Quota,
    Reservation,
    ReservedBlock,
    ReservedSubBlock,
    read_inventory,
)
from beamline.sandbox.cloud.simulation import Simulation
from beamline.sandbox.cloud.versions import GkeVersion

OWN = """
number: "123456789012"
apis: {container.googleapis.com: false, file.googleapis.com: true}
roles: {deployer: [roles/viewer], "serviceAccount:ci@other.iam.gserviceaccount.com": [roles/owner]}
quotas:
  - {metric: NVIDIA_L4_GPUS, limit: 8}
  - {metric: NVIDIA_L4_GPUS, region: us-central1, limit: 1}
  - {metric: GPUS_PER_GPU_FAMILY, family: NVIDIA_RTX_PRO_6000, limit: 0}
reservations:
  - name: projects/owner/reservations/gb300
    zone: us-central1-b
    machine_type: a4x-maxgpu-4g-metal
    shared_with: [beam]
    blocks:
      - name: block-1
        sub_blocks: [{name: sub-1, hosts: 18, healthy_hosts: 17}, {name: sub-2, hosts: 18}]
  - {name: projects/beam/reservations/g4, zone: us-central1-b, machine_type: g4-standard-384, count: 3, specific: false}
other_reservations: missing
versions:
  - {channel: REGULAR, default: 1.34.3-gke.1, masters: [1.34.3-gke.1], nodes: [1.33.9-gke.1]}
  - {channel: REGULAR, location: us-east4, default: 1.34.3-gke.9, masters: [1.34.3-gke.9]}
other_versions: refused
secrets: [hf-token]
certificates: any
"""
GB300 = Reservation(
    "owner",
    "gb300",
    "us-central1-b",
    "a4x-maxgpu-4g-metal",
    36,
    specific=True,
    shared_with=("beam",),
    blocks=(ReservedBlock("block-1", (ReservedSubBlock("sub-1", 18, 17), ReservedSubBlock("sub-2", 18, 18))),),
)


@pytest.fixture
def own(simulation: Simulation) -> Inventory:
    (simulation.folder / PROJECT_FILE).write_text(OWN)
    return read_inventory(simulation)


def test_by_default_whatever_is_named_exists(simulation: Simulation) -> None:
    found = read_inventory(simulation)
    path = "projects/p/reservations/r/reservationBlocks/b/reservationSubBlocks/s"
    assert found.reservation(path, "a4x-maxgpu-4g-metal", "us-central1-b") == Reservation(
        "p", "r", "us-central1-b", "a4x-maxgpu-4g-metal", 0, assumed=True
    )
    assert {found.secrets, found.buckets, found.certificates, found.repositories} == {None}
    assert found.offers(GkeVersion.parse("1.35.1-gke.1"), "REGULAR", "us-central1")
    assert not found.offers(GkeVersion.parse("1.29.1-gke.1"), "REGULAR", "us-central1")


def test_a_sandboxs_own_file_changes_what_it_names(simulation: Simulation, own: Inventory) -> None:
    default = read_inventory(simulation.folder.parent)
    assert own.number == "123456789012"
    assert own.apis ^ default.apis == {"container.googleapis.com", "file.googleapis.com"}
    assert own.member_roles() == {
        "deployer": {"roles/viewer"},
        "serviceAccount:service-123456789012@container-engine-robot.iam.gserviceaccount.com": {
            "roles/container.serviceAgent"
        },
        "serviceAccount:123456789012-compute@developer.gserviceaccount.com": {"roles/editor"},
        "serviceAccount:ci@other.iam.gserviceaccount.com": {"roles/owner"},
    }
    assert own.reservations[0] == GB300
    assert (own.secrets, own.buckets, own.certificates) == (frozenset({"hf-token"}), None, None)


def test_the_nearest_limit_counts(own: Inventory) -> None:
    assert own.quota("NVIDIA_L4_GPUS", "us-central1") == Quota("NVIDIA_L4_GPUS", 1, "us-central1")
    assert own.quota("NVIDIA_L4_GPUS", "us-east4") == Quota("NVIDIA_L4_GPUS", 8, "us-east4")
    family = own.quota("GPUS_PER_GPU_FAMILY", "us-east4", "NVIDIA_RTX_PRO_6000")
    other = own.quota("GPUS_PER_GPU_FAMILY", "us-east4", "NVIDIA_H200")
    assert family is not None
    assert other is not None
    assert (family.limit, other.limit) == (0, 1024)
    assert family.quota_id == "GPUS-PER-GPU-FAMILY-per-project-region"
    assert own.quota("BREAD", "us-east4") is None


def test_reservations_down_to_the_sub_block(own: Inventory) -> None:
    found = own.reservation("projects/owner/reservations/gb300/reservationBlocks/block-1")
    assert found == GB300
    assert (found.usable_by("owner"), found.usable_by("beam"), found.usable_by("else")) == (True, True, False)
    assert found.sub_block("block-1", "sub-1") == ReservedSubBlock("sub-1", 18, 17)
    assert (found.sub_block("block-2", "sub-1"), found.sub_block("block-1", "sub-3")) == (None, None)
    assert own.reservation("projects/beam/reservations/gb300") is None


@pytest.mark.parametrize(
    ("version", "channel", "location", "of", "offered"),
    [
        ("1.34.3-gke.1", "REGULAR", "us-central1", "masters", True),
        ("1.34.3-gke.1", "REGULAR", "us-east4-b", "masters", False),
        ("1.34.3-gke.9", "REGULAR", "us-east4-b", "masters", True),
        ("1.34.3-gke.1", "REGULAR", "us-central1", "nodes", False),
        ("1.33.9-gke.1", "REGULAR", "us-central1", "nodes", True),
        ("1.34.3-gke.1", "STABLE", "us-central1", "masters", False),
    ],
)
def test_versions_by_channel_and_place(
    own: Inventory, version: str, channel: str, location: str, of: str, offered: bool
) -> None:
    assert own.offers(GkeVersion.parse(version), channel, location, of=of) is offered


def test_the_file_is_read_whenever_it_matters(simulation: Simulation, own: Inventory) -> None:
    (simulation.folder / PROJECT_FILE).write_text("secrets: []")
    assert read_inventory(simulation).secrets == frozenset()
    assert own.secrets == frozenset({"hf-token"})


_A4X = "name: projects/p/reservations/r, zone: us-central1-b, machine_type: a4x-maxgpu-4g-metal"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [", "cannot be read"),
        ("- a", "a map is expected, not ['a']"),
        ("api: {}", "api: unknown key; known are number, apis, roles, quotas,"),
        ("number: 12", "number: a text is expected, not 12"),
        ("number: twelve", "number: a text of digits is expected, not 'twelve'"),
        ("apis: [a]", "apis: a map is expected, not ['a']"),
        ("apis: {container.googleapis.com: off-line}", "apis.container.googleapis.com: true or false is expected"),
        ("roles: {deployer: roles/owner}", "roles.deployer: a list of texts is expected, not 'roles/owner'"),
        ("roles: {agent: []}", "roles.agent: is no principal"),
        ("quotas: [{metric: GPUS, limit: 1}]", "quotas[0].metric: one of CPUS, N2_CPUS,"),
        ("quotas: [{metric: CPUS}]", "quotas[0].limit: is missing; a number of at least 0 is expected"),
        ("quotas: [{metric: CPUS, limit: -1}]", "quotas[0].limit: a number of at least 0 is expected, not -1"),
        ("quotas: [{metric: CPUS, limit: 1, family: E2}]", "quotas[0].family: CPUS has one limit"),
        ("quotas: [{metric: NETWORKS, limit: 1, region: us-east4}]", "quotas[0].region: NETWORKS is a quota of the"),
        ("quotas: [{metric: CPUS, limit: 1, region: mars}]", "quotas[0].region: there is no region 'mars'"),
        ("reservations: [{name: r, zone: z, machine_type: m}]", "reservations[0].name: projects/PROJECT/reservations/"),
        ("reservations: [{name: r, zone: z, machine_type: m}]", "reservations[0].zone: there is no zone 'z'"),
        (
            "reservations: [{name: r, zone: z, machine_type: m}]",
            "reservations[0].machine_type: the simulated cloud has",
        ),
        (f"reservations: [{{{_A4X}}}]", "reservations[0]: a reservation has either count or blocks"),
        (f"reservations: [{{{_A4X}, blocks: [b]}}]", "blocks[0]: a map with the keys name, sub_blocks is expected"),
        (
            f"reservations: [{{{_A4X}, blocks: [{{name: b, sub_blocks: [{{name: s, hosts: 1, healthy_hosts: 2}}]}}]}}]",
            "reservations[0].blocks[0].sub_blocks[0].healthy_hosts: 2 is more than its 1 hosts",
        ),
        (
            f"reservations: [{{{_A4X}, count: 1, maintenance_interval: PERIODIC}}]",
            "reservations[0].maintenance_interval: a4x-maxgpu-4g-metal has no machines whose maintenance is PERIODIC",
        ),
        (
            f"reservations: [{{{_A4X}, count: 1, maintenance_interval: RECURRENT}}]",
            "reservations[0].maintenance_interval: one of PERIODIC is expected, not 'RECURRENT'",
        ),
        ("other_reservations: any", "other_reservations: one of whole, missing is expected, not 'any'"),
        ("versions: [{channel: FAST}]", "versions[0].channel: one of RAPID, REGULAR,"),
        ("versions: [{channel: RAPID, default: a, masters: [a]}]", "versions[0].default: 'a' is not an exact GKE"),
        (
            "versions: [{channel: RAPID, default: 1.35.0-gke.1, masters: []}]",
            "versions[0].default: 1.35.0-gke.1 is none of its masters",
        ),
        (
            "versions: [{channel: RAPID, location: x, default: 1.35.0-gke.1, masters: [1.35.0-gke.1]}]",
            "versions[0].location: there is no region or zone 'x'",
        ),
        ("secrets: none", "secrets: a list of texts or any is expected, not 'none'"),
    ],
)
def test_a_file_that_says_nothing_clear_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / PROJECT_FILE).write_text(text)
    with pytest.raises(CloudError) as caught:
        read_inventory(tmp_path)
    assert PROJECT_FILE in str(caught.value)
    assert says in str(caught.value)
