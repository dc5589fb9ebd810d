"""Every problem a check can find: an answer with which it does, and its smallest good twin, with which it does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any

import pytest

from beamline.preflight import CHECKS, Check, Standing, Target
from beamline.preflight.checks.addresses import Ground, Subnet, Vpc
from beamline.preflight.checks.applied import Applied, AppliedPool
from beamline.preflight.checks.certificates import Certificate
from beamline.preflight.checks.cuda import Built
from beamline.preflight.checks.disks import Disk
from beamline.preflight.checks.machine_types import Offer
from beamline.preflight.checks.needs import needed_apis
from beamline.preflight.checks.permissions import places
from beamline.preflight.checks.programs import Programs
from beamline.preflight.checks.quota_needs import quota_needs
from beamline.preflight.checks.quotas import Room
from beamline.preflight.checks.reserved import Part
from beamline.preflight.checks.service_agent import AgentRoles
from beamline.preflight.checks.versions import Control
from beamline.preflight.google import UnansweredError
from stacks.cloud import SANDBOX_PROJECT
from tests.preflight.answers import (
    G4,
    IN_PLACE,
    NEWER,
    NODES,
    OLDER,
    OWN,
    TINY,
    VERSION,
    block,
    bucket,
    certified,
    disk,
    elsewhere,
    everything,
    full,
    g4,
    hub,
    images,
    in_cluster,
    in_network,
    machines,
    metal,
    mounting_in_cluster,
    no_such_zone,
    not_periodic,
    of_sub_blocks,
    offered,
    on_disk,
    on_disk_widely,
    on_hub,
    one_without_usage,
    periodic,
    pods_free,
    real,
    reserved,
    rooms,
    running,
    valid,
    without_setting_policies,
)

BY_ID: dict[str, Check[Any]] = {check.id: check for check in CHECKS}


@dataclass(frozen=True)
class Case:
    """One problem: the check, the stack, the bad answer and the good one. Answers are made for the stack."""

    check: str
    rule: str
    asked: Callable[[], Target]
    bad: Callable[[Target], Any]
    good: Callable[[Target], Any]


def fixed(answer: Any) -> Callable[[Target], Any]:
    return lambda _: answer


AGENT = AgentRoles(
    "service-1@container-engine-robot.iam.gserviceaccount.com", frozenset({"roles/container.serviceAgent"})
)
PLUGIN = "Kubernetes v1.36.0-alpha\n"
CASES = (
    Case("apis", "api-not-enabled", g4, lambda t: needed_apis(t) - {"iam.googleapis.com"}, needed_apis),
    Case("permissions", "permission-missing", g4, without_setting_policies, everything),
    Case(
        "service-agent",
        "service-agent-role",
        g4,
        fixed(replace(AGENT, roles=frozenset({"roles/viewer"}))),
        fixed(AGENT),
    ),
    Case("machine-types", "machine-type-not-in-zone", g4, elsewhere, machines()),
    Case("machine-types", "zone-unknown", g4, no_such_zone, machines()),
    Case("machine-types", "machine-type-differs", g4, machines(accelerators=4), machines()),
    Case("versions", "version-not-offered", g4, offered("1.35.9-gke.1"), offered(VERSION)),
    Case("versions", "version-not-offered", g4, running(VERSION, VERSION), running(VERSION, VERSION, VERSION)),
    Case("versions", "version-not-offered", g4, running(OLDER, VERSION, VERSION), running(NEWER, VERSION, VERSION)),
    Case("versions", "version-not-offered", g4, running(VERSION, OLDER, VERSION), running(VERSION, NEWER, VERSION)),
    Case("cluster", "cluster-missing", in_cluster, fixed(Control()), fixed(Control("RUNNING", VERSION))),
    Case(
        "cluster",
        "cluster-not-running",
        in_cluster,
        fixed(Control("ERROR", VERSION)),
        fixed(Control("RECONCILING", VERSION)),
    ),
    Case(
        "cluster",
        "cluster-older",
        in_cluster,
        fixed(Control("RUNNING", "1.35.7-gke.1")),
        fixed(Control("RUNNING", "1.36.0-gke.1")),
    ),
    Case(
        "cluster",
        "cluster-gcs-fuse",
        mounting_in_cluster,
        fixed(Control("RUNNING", VERSION)),
        fixed(Control("RUNNING", VERSION, mounts_buckets=True)),
    ),
    Case("disk", "disk-missing", on_disk, fixed(Disk()), disk()),
    Case("disk", "disk-type", on_disk, disk(type="hyperdisk-balanced"), disk()),
    Case("disk", "disk-access-mode", on_disk, disk(access_mode="READ_WRITE_SINGLE"), disk()),
    Case("disk", "disk-too-old", on_disk, disk(made=date(2026, 2, 3)), disk()),
    Case("disk", "disk-too-small", on_disk, disk(size_gib=474), disk(size_gib=475)),
    Case("disk", "disk-throughput", on_disk, disk(throughput_mib_per_s=3999), disk()),
    Case("disk", "disk-shared-too-widely", on_disk_widely, disk(size_gib=16_385), disk(size_gib=16_384)),
    Case("quotas", "quota-exceeded", g4, full, rooms(10_000)),
    Case("quotas", "quota-exceeded", g4, one_without_usage(7), rooms(10_000)),
    Case("reservation", "reservation-missing", metal, reserved(exists=False), reserved()),
    Case("reservation", "reservation-zone", metal, reserved(exists=False, zones=("us-east4-b",)), reserved()),
    Case("reservation", "reservation-not-ready", metal, reserved(status="CREATING"), reserved()),
    Case("reservation", "reservation-machine-type", metal, reserved(machine_type="a4x-highgpu-4g"), reserved()),
    Case("reservation", "reservation-not-specific", metal, reserved(specific=False), reserved()),
    Case(
        "reservation",
        "reservation-not-shared",
        metal,
        reserved(owner="other", share_type="LOCAL"),
        reserved(owner="other", share_type="SPECIFIC_PROJECTS", shared_with=frozenset({SANDBOX_PROJECT})),
    ),
    Case(
        "reservation",
        "reservation-block-missing",
        metal,
        reserved(Part("block", "b", exists=False)),
        reserved(Part("block", "b", 18, health="HEALTHY")),
    ),
    Case("reservation", "reservation-sub-block-missing", metal, block(exists=False), block()),
    Case("reservation", "reservation-too-small", metal, block(in_use=11), block(in_use=10)),
    Case("reservation", "reservation-unhealthy", metal, block(healthy=7), block(healthy=8)),
    Case("reservation", "reservation-unhealthy", metal, block(in_use=5, healthy=12), block(in_use=5, healthy=13)),
    Case("reservation", "reservation-unhealthy", metal, block(healthy=None, health="DEGRADED"), block(healthy=None)),
    Case("reservation", "reservation-unhealthy", metal, of_sub_blocks(1, 3), of_sub_blocks(2, 2)),
    Case("host-maintenance", "reservation-maintenance", periodic, fixed({"r": ""}), fixed({"r": "PERIODIC"})),
    Case(
        "host-maintenance", "reservation-maintenance", not_periodic, fixed({"r": "PERIODIC"}), fixed({"r": "AS_NEEDED"})
    ),
    Case(
        "ranges",
        "network-taken",
        g4,
        fixed(Vpc(subnets=(Subnet("office", "192.168.0.0/24"),))),
        fixed(Vpc(exists=False)),
    ),
    Case(
        "ranges",
        "range-taken",
        g4,
        fixed(Vpc(subnets=OWN, peered=(("office", "10.4.128.0/24"),))),
        fixed(Vpc(subnets=OWN, peered=(("office", "10.5.0.0/24"),))),
    ),
    Case("subnetwork", "subnetwork-missing", in_network, fixed(Ground(None)), fixed(Ground(NODES))),
    Case(
        "subnetwork",
        "subnetwork-network",
        in_network,
        fixed(Ground(NODES, in_network=False)),
        fixed(Ground(NODES)),
    ),
    Case(
        "subnetwork",
        "secondary-range-missing",
        in_network,
        fixed(Ground(replace(NODES, ranges=NODES.ranges[:1]))),
        fixed(Ground(NODES)),
    ),
    Case(
        "subnetwork",
        "range-too-small",
        in_network,
        pods_free(767),
        pods_free(768),
    ),
    Case("subnetwork", "range-too-small", in_network, pods_free(256), pods_free(256, applied=IN_PLACE)),
    Case("subnetwork", "range-too-small", in_network, fixed(Ground(TINY)), fixed(Ground(NODES))),
    Case(
        "subnetwork",
        "no-private-google-access",
        in_network,
        fixed(Ground(replace(NODES, google_access=False))),
        fixed(Ground(NODES)),
    ),
    Case(
        "subnetwork", "proxy-only-subnet-missing", in_network, fixed(Ground(NODES, proxies=False)), fixed(Ground(NODES))
    ),
    Case("weights", "bucket-missing", g4, bucket(exists=False), bucket()),
    Case("weights", "weights-missing", g4, bucket(files=frozenset({"config.json"})), bucket()),
    Case("weights", "weights-incomplete", g4, bucket(found_bytes=458_000_000_000), bucket(found_bytes=459_000_000_000)),
    Case("weights", "hub-revision-missing", on_hub, hub(404), hub(200)),
    Case("weights", "hub-token-needed", on_hub, hub(401), hub(200)),
    Case("weights", "hub-token-needed", on_hub, hub(200, gated="auto"), hub(200)),
    Case("weights", "secret-missing", on_hub, hub(200, "token", "DISABLED"), hub(200, "token", "ENABLED")),
    Case(
        "certificate",
        "certificate-missing",
        certified,
        fixed(Certificate(exists=False, asked_at=datetime.now(UTC))),
        valid(2027),
    ),
    Case("certificate", "certificate-expired", certified, valid(2026), valid(2027)),
    Case("images", "image-missing", g4, images(set(), missing="no such tag"), images({"amd64"})),
    Case("images", "image-wrong-arch", metal, images({"amd64"}), images({"amd64", "arm64"})),
    Case("images", "image-not-pinned", real, images({"amd64"}), fixed({})),
    Case("cuda", "image-cuda-too-old", metal, fixed(Built("i", "12.8.1")), fixed(Built("i", "12.9.0"))),
    Case(
        "programs",
        "pulumi-missing",
        g4,
        fixed(Programs(None, PLUGIN, ">=3.250.0")),
        fixed(Programs("v3.250.0", PLUGIN, ">=3.250.0")),
    ),
    Case(
        "programs",
        "pulumi-too-old",
        g4,
        fixed(Programs("v3.249.9", PLUGIN, ">=3.250.0")),
        fixed(Programs("v3.250.0", PLUGIN, ">=3.250.0")),
    ),
    Case(
        "programs",
        "auth-plugin-missing",
        g4,
        fixed(Programs("v3.250.0", None, "")),
        fixed(Programs("v3.250.0", PLUGIN, "")),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_the_problem_is_found_alone_and_not_in_the_good_twin(case: Case) -> None:
    check, asked = BY_ID[case.check], case.asked()
    assert check.applies(asked)
    found = check.judge(asked, case.bad(asked))
    wrong = {finding.rule for finding in found if finding.standing is not Standing.OK}
    assert wrong == {case.rule}
    assert all(finding.remedy and finding.needed for finding in found if finding.standing is Standing.PROBLEM)
    good = check.judge(asked, case.good(asked))
    assert {finding.standing for finding in good} <= {Standing.OK}


def test_every_problem_of_every_check_has_a_case() -> None:
    assert {(case.check, case.rule) for case in CASES} == {(check.id, rule) for check in CHECKS for rule in check.rules}


@pytest.mark.parametrize(
    ("check", "asked", "answer", "reason"),
    [
        ("permissions", g4, lambda t: dict.fromkeys(places(t), "permission denied"), "permission denied"),
        ("quotas", g4, lambda t: [Room(quota_needs(t, Applied())[0], reason="not told")], "not told"),
        ("quotas", g4, one_without_usage(8), "a limit of 8; its usage is not told"),
        ("subnetwork", in_network, fixed(Ground(replace(NODES, free=NODES.free[:2]))), "is not told"),
        ("weights", on_hub, hub(200, "token", "ENABLED", "manual"), "accepted its terms (manual)"),
        ("weights", on_hub, hub(401, "token", "ENABLED"), "preflight reads no secret"),
        ("weights", on_hub, hub(503), "the hub is unwell"),
        ("images", g4, images(set(), reason="no route"), "no route"),
        ("cuda", g4, fixed(Built("i", "")), "does not tell its CUDA"),
        ("machine-types", g4, fixed({G4: Offer({}, frozenset())}), "Google lists no zone"),
        ("reservation", metal, block(healthy=None, health=""), "not told whether the hosts of sub-block s"),
        ("reservation", metal, reserved(Part("block", "b", 18)), "not told whether the hosts of block b"),
        ("programs", g4, fixed(Programs("v3.250.0", "unknown", "")), "calls its version 'unknown'"),
        ("programs", g4, fixed(Programs("v3.250.0", UnansweredError("it hangs"), "")), "it hangs"),
        ("programs", g4, fixed(Programs(UnansweredError("it hangs"), PLUGIN, "")), "it hangs"),
        ("programs", g4, fixed(Programs("dev", PLUGIN, ">=3.250.0")), "calls its version 'dev'"),
    ],
)
def test_what_nobody_told_is_not_fine(check: str, asked: Any, answer: Any, reason: str) -> None:
    stack = asked()
    standings = {f.standing: f.found for f in BY_ID[check].judge(stack, answer(stack)) if f.standing is not Standing.OK}
    assert list(standings) == [Standing.UNKNOWN]
    assert reason in standings[Standing.UNKNOWN]


def test_nodes_that_exist_need_no_room_once_more() -> None:
    check = BY_ID["reservation"]
    assert [f.rule for f in check.judge(metal(), block(in_use=18)(metal()))] == ["reservation-too-small"]
    assert [f.rule for f in check.judge(metal(), block(own=8, in_use=18)(metal()))] == [""]
    sick = block(own=8, in_use=9, healthy=8)(metal())
    assert [f.rule for f in check.judge(metal(), sick)] == ["reservation-unhealthy"]
    assert [f.rule for f in check.judge(metal(), block(own=8, in_use=8, healthy=8)(metal()))] == [""]
    assert quota_needs(g4(), Applied(cluster=True, pools={"main": AppliedPool(1)}, system_nodes=2)) == []


def test_a_stack_in_place_holds_its_ranges_itself() -> None:
    found = BY_ID["ranges"].judge(g4(), Vpc(subnets=OWN))
    assert [finding.standing for finding in found] == [Standing.OK]
