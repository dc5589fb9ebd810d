"""Every problem a check can find: an answer with which it does, and its smallest good twin, with which it does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from beamline.preflight import CHECKS, Check, Standing, Target
from beamline.preflight.checks.addresses import Ground, Subnet, Vpc
from beamline.preflight.checks.applied import Applied
from beamline.preflight.checks.certificates import Certificate
from beamline.preflight.checks.cuda import Built
from beamline.preflight.checks.images import Image, needed_archs
from beamline.preflight.checks.machine_types import Machine, Offer
from beamline.preflight.checks.needs import needed_apis, needed_permissions
from beamline.preflight.checks.permissions import places
from beamline.preflight.checks.programs import Programs
from beamline.preflight.checks.quota_needs import quota_needs
from beamline.preflight.checks.quotas import Room
from beamline.preflight.checks.reservations import Part, Reserved
from beamline.preflight.checks.service_agent import AgentRoles
from beamline.preflight.checks.versions import Control, Offered
from beamline.preflight.checks.weights import InBucket, OnHub
from beamline.preflight.google import UnansweredError
from stacks.cloud import SANDBOX_PROJECT
from tests.preflight.targets import target

BY_ID: dict[str, Check[Any]] = {check.id: check for check in CHECKS}
OLDER, NEWER = "1.35.7-gke.1", "1.36.0-gke.1"
ZONE, VERSION, G4, N4 = "us-central1-b", "1.35.8-gke.1036000", "g4-standard-384", "n4-standard-8"
EXISTING = {
    "network": {
        "kind": "existing",
        "network": "office",
        "subnetwork": "nodes",
        "pods_range": "pods",
        "services_range": "services",
    }
}
CLUSTER = {"cluster": {"kind": "existing", "name": "ours", "version": VERSION}, "network": {"kind": "of_cluster"}}
CERTIFIED = {"serving": {"router": {"gateway": {"certificate": "beam"}}}}


def g4() -> Target:
    return target()


def metal() -> Target:
    return target("a4x-max-dynamo")


def on_hub() -> Target:
    return target("small-l4")


def real() -> Target:
    return target(project="acme-inference")


def in_network() -> Target:
    return target(overrides=EXISTING)


def in_cluster() -> Target:
    return target(overrides=CLUSTER)


def certified() -> Target:
    return target(overrides=CERTIFIED)


def everything(asked: Target) -> Any:
    return {place: needed_permissions(asked, place.kind) for place in places(asked)}


def without_setting_policies(asked: Target) -> Any:
    return {place: frozenset(p for p in held if not p.endswith("setIamPolicy"))
            for place, held in everything(asked).items()}  # fmt: skip


def machines(**changes: Any) -> Callable[[Target], Any]:
    zones = {ZONE, "us-central1-f", "europe-west4-a"}
    gpu = replace(Machine("amd64", 384, "nvidia-rtx-pro-6000", 8), **changes)
    return lambda _: {G4: Offer({ZONE: gpu}, zones), N4: Offer({ZONE: Machine("amd64", 8)}, zones)}


def elsewhere(asked: Target) -> Any:
    offers = machines()(asked)
    return offers | {G4: Offer({"us-central1-f": Machine()}, offers[G4].known_zones)}


def no_such_zone(asked: Target) -> Any:
    offers = machines()(asked)
    return offers | {G4: Offer({"us-central1-f": Machine()}, frozenset({"us-central1-f"}))}


def offered(version: str) -> Callable[[Target], Offered]:
    return lambda _: Offered((version,), {"REGULAR": (version,)})


def running(version: str, *nodes: str) -> Callable[[Target], Offered]:
    """The pinned version is offered no more; what of the stack is there runs these."""
    applied = Applied(cluster=True, version=version, node_versions=nodes)
    return lambda t: replace(offered("1.35.9-gke.1")(t), applied=applied)


def rooms(limit: float) -> Callable[[Target], list[Room]]:
    """One more than the limit is used of everything but the GPUs of the project."""
    return lambda asked: [Room(need, limit=limit, usage=limit - need.amount) for need in quota_needs(asked, Applied())]


def full(asked: Target) -> list[Room]:
    first, *others = rooms(10_000)(asked)
    return [replace(first, usage=first.usage + 1), *others]


def one_without_usage(limit: float) -> Callable[[Target], list[Room]]:
    """Nobody recorded the usage of the first quota, the GPUs: the stack takes 8 of it."""

    def answer(asked: Target) -> list[Room]:
        first, *others = rooms(10_000)(asked)
        return [replace(first, limit=limit, usage=None), *others]

    return answer


def reserved(part: Part | None = None, **changes: Any) -> Callable[[Target], Reserved]:
    given = {
        "machine_type": "a4x-maxgpu-4g-metal",
        "count": 18,
        "owner": SANDBOX_PROJECT,
        "part": part or Part("sub-block", "s", 18, 0, 18, "HEALTHY"),
    }
    return lambda _: Reserved(**{**given, **changes})


def block(**changes: Any) -> Callable[[Target], Reserved]:
    return reserved(replace(Part("sub-block", "s", 18, 0, 18, "HEALTHY"), **changes))


def of_sub_blocks(healthy: int, degraded: int) -> Callable[[Target], Reserved]:
    """A block of 18 hosts of which some sub-blocks are degraded: half of its hosts are enough, a quarter is not."""
    return reserved(Part("block", "b", 18, 0, None, "DEGRADED", (healthy, degraded)))


OWN = (Subnet("beamline-dev-nodes", "10.0.0.0/20"), Subnet("beamline-dev-proxy-only", "10.9.0.0/23", "X"))
NODES = Subnet(
    "nodes",
    "10.0.0.0/20",
    ranges=(("pods", "10.4.0.0/16"), ("services", "10.8.0.0/20")),
    free=(("", 4092), ("pods", 65536), ("services", 4096)),
)


def pods_free(addresses: int, **changes: Any) -> Callable[[Target], Ground]:
    """The stack's three nodes take 256 addresses each for their pods."""
    return lambda _: Ground(replace(NODES, free=(*NODES.free[:1], ("pods", addresses), NODES.free[2])), **changes)


TINY = Subnet("nodes", "10.0.0.0/20", ranges=(("pods", "10.4.0.0/23"), ("services", "10.8.0.0/20")),
              free=(("", 4092), ("services", 4096)))  # fmt: skip
"""It is not told how many addresses are free for pods, and all of them are too few."""
IN_PLACE = Applied(cluster=True, accelerator_nodes=1, system_nodes=1)


def bucket(**changes: Any) -> Callable[[Target], Any]:
    size = 509_000_000_000
    found = InBucket("model.weights", "b", "beam/fp8/", size, found_bytes=size,
                     files=frozenset({"config.json", "a.safetensors"}))  # fmt: skip
    return lambda _: [replace(found, **changes)]


def hub(status: int, secret: str = "", state: str = "", gated: str = "") -> Callable[[Target], Any]:
    return lambda _: [OnHub("model.weights", "Qwen/Qwen3-4B", "abc", status, secret, state, gated)]


def images(archs: set[str], **changes: str) -> Callable[[Target], Any]:
    return lambda asked: {name: Image(frozenset(archs), **changes) for name in needed_archs(asked)}


def valid(year: int) -> Callable[[Target], Certificate]:
    return lambda _: Certificate(exists=True, asked_at=datetime(2026, 11, 30, tzinfo=UTC),
                                 expires=datetime(year, 1, 1, tzinfo=UTC))  # fmt: skip


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
    assert [f.rule for f in check.judge(metal(), replace(block(in_use=18)(metal()), own=8))] == [""]
    sick = replace(block(in_use=9, healthy=8)(metal()), own=8)
    assert [f.rule for f in check.judge(metal(), sick)] == ["reservation-unhealthy"]
    assert [f.rule for f in check.judge(metal(), replace(block(in_use=8, healthy=8)(metal()), own=8))] == [""]
    assert quota_needs(g4(), Applied(cluster=True, accelerator_nodes=1, system_nodes=2)) == []


def test_a_stack_in_place_holds_its_ranges_itself() -> None:
    found = BY_ID["ranges"].judge(g4(), Vpc(subnets=OWN))
    assert [finding.standing for finding in found] == [Standing.OK]
