"""The emulated endpoint: the shipped stacks are fine on it, and one thing wrong in the project gives that problem."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beamline.preflight import CHECKS, Report, Standing, run_checks
from beamline.sandbox.cloud.ledger import Record
from beamline.sandbox.google_api import server
from beamline.sandbox.google_api.routes import Route
from beamline.sandbox.simulated_google import simulated_project
from stacks.cloud import SANDBOX_PROJECT
from tests.preflight.answers import not_periodic, periodic
from tests.preflight.discovery import documents, methods, unknown_keys
from tests.preflight.targets import simulated, target

STACKS = ("g4-llmd", "g4-dynamo", "a4x-max-dynamo", "a4x-max-llmd", "small-l4")


MIRROR = "us-central1-docker.pkg.dev/acme/mirror"
EXISTING = {"network": {"kind": "existing", "network": "beamline-dev", "subnetwork": "office", "pods_range": "pods",
                        "services_range": "services"}}  # fmt: skip
KEY = {"cluster": {"encryption_key": "projects/keys/locations/us-central1/keyRings/r/cryptoKeys/k"}}
CERTIFIED = {"serving": {"router": {"gateway": {"certificate": "beam"}}}}
HUB = {"model": {"weights": {"kind": "huggingface", "repository": "a/b", "revision": "0" * 40, "token_secret": "hub"}}}


def asked(preset: str, folder: Path, project: str = "", **settings: Any) -> Report:
    stack = target(preset, **settings)
    with simulated(folder, stack, project) as world:
        return run_checks(CHECKS, stack, world)


def wrong(report: Report) -> list[tuple[str, str, str]]:
    return [
        (check, finding.rule or str(finding.standing), finding.found)
        for check, found in report.findings.items()
        for finding in found
        if finding.standing is not Standing.OK
    ]


@pytest.mark.parametrize("preset", STACKS)
def test_the_shipped_stacks_are_fine(preset: str, tmp_path: Path) -> None:
    assert wrong(asked(preset, tmp_path)) == []


RESERVED = f"""
other_reservations: missing
reservations:
  - name: projects/{SANDBOX_PROJECT}/reservations/r
    zone: us-central1-b
    machine_type: a4x-maxgpu-4g-metal
    blocks: [{{name: b, sub_blocks: [{{name: s, hosts: 18}}]}}]
"""
OTHERS = """
reservations:
  - {name: projects/other/reservations/r, zone: us-central1-b, machine_type: g4-standard-384, count: 18,
     shared_with: [somebody]}
"""
H100 = f"""
reservations:
  - {{name: projects/{SANDBOX_PROJECT}/reservations/r, zone: us-central1-b, machine_type: a3-megagpu-8g, count: 1}}
"""
H100_PERIODIC = H100.replace("count: 1", "count: 1, maintenance_interval: PERIODIC")
RESERVE = {"accelerator_pools": {"main": {"provisioning": {"kind": "reservation"}}}}
QUOTA = "quotas: [{{metric: {}, limit: {}}}]"
FAMILY = "quotas: [{{metric: {}, limit: {}, region: us-central1, family: {}}}]"
DISK = """
disks:
  - {{name: beam-weights, zone: us-central1-b, type: {}, size_gb: 600, access_mode: READ_ONLY_MANY,
     throughput_mib_per_s: 2400, created: "2026-02-04T00:00:00.000-08:00"}}
"""
ON_DISK = {
    "overrides": {"model": {"storage": {"kind": "hyperdisk_ml", "disk": "beam-weights", "throughput_mib_per_s": 2400}}},
    "accept_unverified": ["weights:hyperdisk_ml"],
}
FUSE = {"gcsFuseCsiDriverConfig": {"enabled": True}}
MOUNTING = {
    "cluster": {"kind": "existing", "name": "ours", "version": "1.35.8-gke.1036000"},
    "network": {"kind": "of_cluster"},
    "model": {"storage": {"kind": "gcs_fuse"}},
}
G4, METAL = "g4-llmd", "a4x-max-dynamo"

SEEDED: dict[str, tuple[str, str, dict[str, Any], tuple[str, str, str]]] = {
    "an API": (G4, "apis: {networkservices.googleapis.com: false}", {},
               ("apis", "api-not-enabled", "not enabled: networkservices.googleapis.com")),
    "the service agent": (G4, "roles: {gke_service_agent: []}", {},
                          ("service-agent", "service-agent-role",
                           "service-100000000001@container-engine-robot.iam.gserviceaccount.com has no role")),
    "a zone": (G4, "", {"zone": "us-central1-c"},
               ("machine-types", "machine-type-not-in-zone", "it has not")),
    "a zone's letter": (G4, "", {"zone": "us-central1-z"},
                        ("machine-types", "zone-unknown", "there is no zone us-central1-z")),
    "GPUs of the family": (G4, FAMILY.format("GPUS_PER_GPU_FAMILY", 7, "NVIDIA_RTX_PRO_6000"), {},
                           ("quotas", "quota-exceeded", "0 of 7 used")),
    "GPUs of the project": (G4, QUOTA.format("GPUS_ALL_REGIONS", 4), {}, ("quotas", "quota-exceeded", "0 of 4 used")),
    "local SSD": (G4, QUOTA.format("LOCAL_SSD_TOTAL_GB_PER_VM_FAMILY", 6000), {},
                  ("quotas", "quota-exceeded", "0 of 6,000 used")),
    "vCPUs": (G4, FAMILY.format("CPUS_PER_VM_FAMILY", 8, "N4"), {}, ("quotas", "quota-exceeded", "0 of 8 used")),
    "disks": (G4, QUOTA.format("HDB_TOTAL_GB", 300), {}, ("quotas", "quota-exceeded", "0 of 300 used")),
    "networks": (METAL, QUOTA.format("NETWORKS", 2), {}, ("quotas", "quota-exceeded", "0 of 2 used")),
    "L4 GPUs": ("small-l4", QUOTA.format("NVIDIA_L4_GPUS", 0), {}, ("quotas", "quota-exceeded", "0 of 0 used")),
    "the reservation": (METAL, "other_reservations: missing", {},
                        ("reservation", "reservation-missing",
                         f"project {SANDBOX_PROJECT} shows no reservation of this name in any zone")),
    "its zone": (METAL, RESERVED.replace("central1", "east4"), {},
                 ("reservation", "reservation-zone", "it is in us-east4-b, not in us-central1-b")),
    "its machines": (METAL, RESERVED.replace("a4x-maxgpu-4g-metal", "g4-standard-384"), {},
                     ("reservation", "reservation-machine-type", "it holds g4-standard-384")),
    "its use by anybody": (METAL, f"{RESERVED}    specific: false\n", {},
                           ("reservation", "reservation-not-specific",
                            "any machine of the project may take its capacity (specificReservationRequired is false)")),
    "its sub-block": (METAL, RESERVED.replace("name: s", "name: t"), {},
                      ("reservation", "reservation-sub-block-missing", "the reservation has no sub-block s")),
    "its size": (METAL, RESERVED.replace("hosts: 18", "hosts: 7"), {},
                 ("reservation", "reservation-too-small", "7 of 7 machines are free for the pool")),
    "its hosts' health": (METAL, RESERVED.replace("hosts: 18", "hosts: 18, healthy_hosts: 7"), {},
                          ("reservation", "reservation-unhealthy",
                           "7 of 18 hosts of sub-block s are healthy (DEGRADED)")),
    "its sharing": (G4, OTHERS, {"reservation": "projects/other/reservations/r", "overrides": RESERVE,
                                 "accept_unverified": ["provisioning:reservation"]},
                    ("reservation", "reservation-not-shared", "project other shares it with somebody")),
    "the bucket": (G4, "buckets: [another]", {},
                   ("weights", "bucket-missing", "there is no bucket your-weights-bucket")),
    "the disk": (G4, "other_disks: missing", ON_DISK,
                 ("disk", "disk-missing", "there is no disk of this name in the zone")),
    "its type": (G4, DISK.format("hyperdisk-balanced"), ON_DISK,
                 ("disk", "disk-type",
                  "it is of type hyperdisk-balanced, which many nodes cannot read at the same time, or not this fast")),
    "its access mode": (G4, DISK.format("hyperdisk-ml").replace(", access_mode: READ_ONLY_MANY", ""), ON_DISK,
                        ("disk", "disk-access-mode",
                         "its access mode is READ_WRITE_SINGLE: one node would get it")),
    "its age": (G4, DISK.format("hyperdisk-ml").replace("2026-02-04", "2026-02-03"), ON_DISK,
                ("disk", "disk-too-old", "it was made on 2026-02-03")),
    "the certificate": (G4, "certificates: []",
                        {"overrides": {"serving": {"router": {"gateway": {"certificate": "beam"}}}}},
                        ("certificate", "certificate-missing",
                         "us-central1 has no SSL certificate of this name")),
    "the cluster": (G4, "", {"overrides": {
        "cluster": {"kind": "existing", "name": "ours", "version": "1.35.8-gke.1036000"},
        "network": {"kind": "of_cluster"}}},
        ("cluster", "cluster-missing", "there is no cluster ours in us-central1")),
}  # fmt: skip


@pytest.mark.parametrize("name", SEEDED)
def test_one_thing_that_is_wrong_gives_its_problem(name: str, tmp_path: Path) -> None:
    preset, project, settings, expected = SEEDED[name]
    found = [row for row in wrong(asked(preset, tmp_path, project, **settings)) if row[0] == expected[0]]
    assert expected in found
    assert {rule for _, rule, _ in found} == {expected[1]}


def test_a_disk_that_suits_the_stack_is_fine(tmp_path: Path) -> None:
    assert wrong(asked(G4, tmp_path, DISK.format("hyperdisk-ml"), **ON_DISK)) == []


@pytest.mark.parametrize(("addons", "expected"), [({}, ["cluster-gcs-fuse"]), (FUSE, [])])
def test_an_existing_cluster_mounts_buckets_or_not(addons: Any, expected: list[str], tmp_path: Path) -> None:
    path = f"projects/{SANDBOX_PROJECT}/locations/us-central1/clusters/ours"
    simulated_project(tmp_path).ledger.add(
        made("gcp:container/cluster:Cluster", "us-central1", "ours", path, addonsConfig=addons)
    )
    found = asked(G4, tmp_path, overrides=MOUNTING, accept_unverified=["weights:gcs_fuse"])
    assert [rule for check, rule, _ in wrong(found) if check == "cluster"] == expected


def made(kind: str, location: str, name: str, path: str, **inputs: Any) -> Record:
    return Record(kind, path, SANDBOX_PROJECT, location, name, inputs, {"masterVersion": "1.35.8-gke.1036000"})


def networks(*cidrs: str, names: tuple[str, ...] = ("beamline-dev-nodes", "office")) -> Iterator[Record]:
    yield made("gcp:compute/network:Network", "global", "beamline-dev", f"projects/{SANDBOX_PROJECT}/global/networks/d")
    for name, cidr in zip(names, cidrs, strict=True):
        yield made("gcp:compute/subnetwork:Subnetwork", "us-central1", name, f"subnetworks/{name}",
                   network=f"projects/{SANDBOX_PROJECT}/global/networks/beamline-dev", ipCidrRange=cidr,
                   privateIpGoogleAccess=True)  # fmt: skip


def cluster(nodes: int, sub_block: str = "s") -> Iterator[Record]:
    path = f"projects/{SANDBOX_PROJECT}/locations/us-central1/clusters/beamline-dev"
    yield made("gcp:container/cluster:Cluster", "us-central1", "beamline-dev", path)
    affinity = {"values": [f"r/reservationBlocks/b/reservationSubBlocks/{sub_block}"]}
    yield made("gcp:container/nodePool:NodePool", "us-central1", "beamline-dev-main",
               f"{path}/nodePools/beamline-dev-main", nodeCount=nodes, cluster="beamline-dev",
               nodeConfig={"machineType": "a4x-maxgpu-4g-metal", "reservationAffinity": affinity})  # fmt: skip


@pytest.mark.parametrize(
    ("records", "project", "expected"),
    [
        (networks("10.0.0.0/20", "192.168.0.0/24"), "", []),
        (networks("10.0.0.0/20", "10.8.1.0/24"), "", ["range-taken"]),
        (networks("10.20.0.0/20", names=("office",)), "", ["network-taken"]),
        (cluster(8), RESERVED.replace("hosts: 18", "hosts: 8"), []),
        (cluster(4), RESERVED.replace("hosts: 18", "hosts: 8"), []),
        (cluster(8), RESERVED.replace("hosts: 18", "hosts: 7"), ["reservation-too-small"]),
        (cluster(8, "t"), RESERVED.replace("hosts: 18}", "hosts: 8}, {name: t, hosts: 8}"), []),
        (cluster(8, "t"), RESERVED.replace("hosts: 18}", "hosts: 7}, {name: t, hosts: 8}"), ["reservation-too-small"]),
    ],
)
def test_what_stacks_made_counts(records: Iterator[Record], project: str, expected: list[str], tmp_path: Path) -> None:
    for record in records:
        simulated_project(tmp_path).ledger.add(record)
    assert [rule for _, rule, _ in wrong(asked(METAL, tmp_path, project))] == expected


def test_hosts_are_reserved_for_the_maintenance_that_the_pool_wants(tmp_path: Path) -> None:
    """PERIODIC hosts and others are two kinds: neither pool gets nodes from the other's reservation."""
    found = []
    for stack in (periodic(), not_periodic()):
        for project in (H100, H100_PERIODIC):
            with simulated(tmp_path, stack, project) as world:
                found.append([rule for _, rule, _ in wrong(run_checks(CHECKS, stack, world))])
    assert found == [["reservation-maintenance"], [], [], ["reservation-maintenance"]]


def test_who_may_only_read_is_told_so(tmp_path: Path) -> None:
    """A viewer learns everything but may make nothing."""
    found = wrong(asked(G4, tmp_path, "roles: {deployer: [roles/viewer]}"))
    assert {(check, rule) for check, rule, _ in found} == {("permissions", "permission-missing")}


def test_who_may_not_even_look_gets_no_all_clear(tmp_path: Path) -> None:
    """Fine is what needs no right, registries and this machine; the rest is open, and the rights are missing."""
    found = wrong(asked(G4, tmp_path, "roles: {deployer: []}"))
    assert {check for check, _, _ in found} == {
        "apis", "permissions", "service-agent", "machine-types", "versions", "quotas", "ranges", "weights",
    }  # fmt: skip
    assert {rule for check, rule, _ in found if check != "permissions"} == {"could not look"}


def test_an_api_that_is_off_leaves_its_questions_open(tmp_path: Path) -> None:
    found = wrong(asked(G4, tmp_path, "apis: {compute.googleapis.com: false}"))
    assert ("apis", "api-not-enabled", "not enabled: compute.googleapis.com") in found
    assert ("machine-types", "could not look", "the API compute.googleapis.com is not enabled in the project") in [
        (check, rule, re.sub("API [0-9.:]+", "API compute.googleapis.com", said)) for check, rule, said in found
    ]


def test_every_route_is_a_method_of_googles_api() -> None:
    """Google's own descriptions have each path; parts in braces may be called otherwise there."""
    known = {
        (document["rootUrl"].split("/")[2], method["httpMethod"],
         re.sub(r"\{[^}]+\}", "{}", document["servicePath"] + method.get("flatPath", method["path"])))
        for document in documents() for method in methods(document)
    }  # fmt: skip

    def shape(route: Route) -> tuple[str, str, str]:
        path = re.sub(r"\{[^}]+\}", "{}", route.path)
        if route.host == "serviceusage.googleapis.com":
            path = path.replace("projects/{}", "{}/{}").replace("compute.googleapis.com", "{}")
        return route.host, route.method, path.replace("versions/latest", "versions/{}")

    assert [route.path for route in server.ROUTES if shape(route) not in known] == []


def test_every_answer_is_as_googles_schema_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the shipped stacks are answered: no key that Google does not have, no value of another kind."""
    seen: list[tuple[Route, Any]] = []
    answered = Route.answered

    def recorded(route: Route, call: Any) -> Any:
        answer = answered(route, call)
        seen.append((route, json.loads(json.dumps(answer))))
        return answer

    monkeypatch.setattr(Route, "answered", recorded)
    for preset in STACKS:
        asked(preset, tmp_path)
    for record in (*networks("10.0.0.0/20", "192.168.0.0/24"), *cluster(4)):
        simulated_project(tmp_path).ledger.add(record)
    asked(METAL, tmp_path, RESERVED)
    asked(METAL, tmp_path, RESERVED.replace("central1", "east4"))
    block = {"reservation": "r/reservationBlocks/b", "accept_unverified": ["provisioning:reservation"]}
    asked(G4, tmp_path, RESERVED, overrides=RESERVE, mirror=MIRROR, **block)
    asked(G4, tmp_path, overrides=EXISTING | CERTIFIED | HUB | KEY)
    asked(G4, tmp_path, **ON_DISK)
    with simulated(tmp_path, periodic(), H100_PERIODIC) as world:
        run_checks(CHECKS, periodic(), world)
    assert {route.path for route, _ in seen} == {route.path for route in server.ROUTES}
    wrong_keys = {found for route, answer in seen for found in against_schema(route, answer)}
    assert wrong_keys == set()


def against_schema(route: Route, answer: Any) -> Iterator[str]:
    for document in documents():
        for method in methods(document):
            path = document["servicePath"] + method.get("flatPath", method["path"])
            ours = re.sub(r"\{[^}]+\}", "{}", route.path)
            if route.host == "serviceusage.googleapis.com":
                ours = ours.replace("projects/{}", "{}/{}").replace("compute.googleapis.com", "{}")
            same = re.sub(r"\{[^}]+\}", "{}", path) == ours.replace("versions/latest", "versions/{}")
            if same and method["httpMethod"] == route.method and route.host in document["rootUrl"]:
                yield from unknown_keys(document, method["response"], answer, method["id"])


def test_rights_on_a_key_are_tested_there(tmp_path: Path) -> None:
    """The key may be another project's; who may use it there is not said by rights in this one."""
    assert wrong(asked(G4, tmp_path, overrides=KEY)) == []
    found = asked(G4, tmp_path, "roles: {deployer: [roles/viewer]}", overrides=KEY).findings["permissions"]
    assert ("missing: cloudkms.cryptoKeys.setIamPolicy", "cluster.encryption_key") in [(f.found, f.path) for f in found]


def test_images_of_a_private_mirror_are_asked_for_by_googles_api(tmp_path: Path) -> None:
    """No registry is asked, as none tells anonymously; the repository may be another project's."""
    assert wrong(asked(G4, tmp_path, mirror=MIRROR)) == []
    found = wrong(asked(G4, tmp_path, "repositories: [another]", mirror=MIRROR))
    assert {(check, rule) for check, rule, _ in found} == {
        ("permissions", "could not look"),
        ("images", "image-missing"),
    }
