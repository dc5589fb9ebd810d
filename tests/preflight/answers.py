"""Stacks that are asked about, and what Google may answer: the material of the judgements' cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

from beamline.preflight import Target
from beamline.preflight.checks.addresses import Ground, Subnet
from beamline.preflight.checks.applied import Applied, AppliedPool
from beamline.preflight.checks.certificates import Certificate
from beamline.preflight.checks.disks import Disk
from beamline.preflight.checks.images import Image, needed_archs
from beamline.preflight.checks.machine_types import Machine, Offer
from beamline.preflight.checks.needs import needed_permissions
from beamline.preflight.checks.permissions import places
from beamline.preflight.checks.quota_needs import quota_needs
from beamline.preflight.checks.quotas import Room
from beamline.preflight.checks.reserved import Part, Reserved
from beamline.preflight.checks.versions import Offered
from beamline.preflight.checks.weights import InBucket, OnHub
from stacks.cloud import SANDBOX_PROJECT
from tests.preflight.targets import target

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


UNVERIFIED = [
    "host-maintenance:periodic",
    "engine:vllm",
    "precision:bf16",
    "parallelism:tp1",
    "router:llm-d",
    "routing:prefix_approximate",
    "gateway:gke-l7-rilb",
]
"""Of the small stack on other machines than its own."""
ON_DISK = {"kind": "hyperdisk_ml", "disk": "beam-weights", "throughput_mib_per_s": 4000}


def on_disk() -> Target:
    return target(overrides={"model": {"storage": ON_DISK}}, accept_unverified=["weights:hyperdisk_ml"])


def on_disk_widely() -> Target:
    overrides = {"model": {"storage": ON_DISK}, "accelerator_pools": {"main": {"nodes": 40}}}
    return target(overrides=overrides, accept_unverified=["weights:hyperdisk_ml"])


def disk(**changes: Any) -> Callable[[Target], Any]:
    whole = Disk("hyperdisk-ml", "READ_ONLY_MANY", 1024, 4000, date(2026, 2, 4))
    return lambda _: replace(whole, **changes)


def mounting_in_cluster() -> Target:
    overrides = {**CLUSTER, "model": {"storage": {"kind": "gcs_fuse"}}}
    return target(overrides=overrides, accept_unverified=["weights:gcs_fuse"])


def g4() -> Target:
    return target()


def metal() -> Target:
    return target("a4x-max-dynamo")


RESERVED_H100 = {
    "machine_type": "a3-megagpu-8g",
    "provisioning": {"kind": "reservation"},
}


def periodic() -> Target:
    """One H100 machine from a reservation, with PERIODIC maintenance."""
    pool = RESERVED_H100 | {"host_maintenance": {"kind": "periodic"}}
    return target(
        "small-l4", overrides={"accelerator_pools": {"main": pool}}, reservation="r", accept_unverified=UNVERIFIED
    )


def not_periodic() -> Target:
    pool = dict(RESERVED_H100)
    return target(
        "small-l4", overrides={"accelerator_pools": {"main": pool}}, reservation="r", accept_unverified=UNVERIFIED[1:]
    )


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


def reserved(part: Part | None = None, **changes: Any) -> Callable[[Target], dict[str, Reserved]]:
    given = {
        "machine_type": "a4x-maxgpu-4g-metal",
        "count": 18,
        "owner": SANDBOX_PROJECT,
        "part": part or Part("sub-block", "s", 18, 0, 18, "HEALTHY"),
    }
    return lambda asked: {name: Reserved(**{**given, **changes}) for name in asked.reservations}


def block(own: int = 0, **changes: Any) -> Callable[[Target], dict[str, Reserved]]:
    return reserved(replace(Part("sub-block", "s", 18, 0, 18, "HEALTHY"), **changes), own=own)


def of_sub_blocks(healthy: int, degraded: int) -> Callable[[Target], dict[str, Reserved]]:
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
IN_PLACE = Applied(cluster=True, pools={"main": AppliedPool(1)}, system_nodes=1)


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
