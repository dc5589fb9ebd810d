"""Node pools: what GKE refuses about machine types, disks, versions and places."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.checks.candidate import Candidate
from stacks.checks.reservations import reservation_form
from stacks.pools import Pool
from stacks.problems import Problem
from stacks.rows import GkeSupport, HardwareRow, LlmdRelease
from stacks.spec import FlexStart, LocalSsd
from stacks.versions import minor, numbers, older
from stacks.wording import some

__all__ = ["CHECKS"]

_FLEX_START_FROM = "1.32.2-gke.1652000"
_FLEX_START_DOCS = "GKE docs, flex-start provisioning: requirements, at most seven days, no certain start"
_FLEX_START_RULES = "Cluster Toolkit v1.95.0, flex-start preconditions of its GKE node pool"


def ssd_count(c: Candidate) -> Iterator[Problem]:
    """A machine type takes exactly its own number of local SSDs."""
    for pool in c.pools:
        ssd = pool.row.local_ssd
        if pool.local_ssd_count != ssd.count:
            yield Problem(
                rule="local-ssd-count",
                path=f"{pool.path}.local_ssd_count",
                value=pool.local_ssd_count,
                why=f"{pool.row.machine_type} takes exactly {some(ssd.count, 'local SSD')} of {ssd.size_gib} GiB: GKE "
                "refuses any other number, with none the weights have no place, and a later change replaces the pool",
                allowed=str(ssd.count),
                remedy="leave the key out, or set it to the allowed number",
                source=ssd.source,
            )


def ssd_mode(c: Candidate) -> Iterator[Problem]:
    """A pool has the disks as a node of its machine type can give them."""
    for pool in c.pools:
        ssd, mode = pool.row.local_ssd, pool.plan.local_ssd_mode
        if ssd.count and mode not in ssd.modes:
            yield Problem(
                rule="local-ssd-mode",
                path=f"{pool.path}.local_ssd_mode",
                value=mode,
                why=f"GKE does not give the local SSD of {pool.row.machine_type} to a pool this way",
                allowed=", ".join(ssd.modes),
                remedy="set it to an allowed mode; a later change replaces the pool",
                source=ssd.source,
            )


def raw_block_use(c: Candidate) -> Iterator[Problem]:
    """Disks that nothing is put on would still be formatted, by the one privileged DaemonSet of a stack."""
    preset = c.preset
    if isinstance(preset.model.storage, LocalSsd) or preset.serving.kv_cache.offload.local_ssd_gib:
        return
    for pool in c.serving_pools:
        if pool.plan.local_ssd_mode == "raw_block":
            yield Problem(
                rule="raw-block-unused",
                path=f"{pool.path}.local_ssd_mode",
                value=pool.plan.local_ssd_mode,
                why="raw block is for weights and KV tiers alone, and both are elsewhere: the disks would stay empty, "
                "and pods' own storage would be on the boot disk",
                allowed="ephemeral; or model.storage or serving.kv_cache.offload on local SSD",
                remedy="set it to ephemeral",
                source="stacks/checks/hardware.py",
            )


def provisioning(c: Candidate) -> Iterator[Problem]:
    """Not every machine type is sold every way."""
    for pool in c.pools:
        kind, row = pool.plan.provisioning.kind, pool.row
        allowed = row.gke.provisioning
        if kind not in allowed:
            only_reserved = allowed == ["reservation"]
            yield Problem(
                rule="provisioning",
                path=f"{pool.path}.provisioning.kind",
                value=kind,
                why=f"{row.machine_type} is not offered as {kind}",
                allowed=", ".join(allowed),
                remedy=f"set it to reservation, and beamline:reservation to {reservation_form(row)}"
                if only_reserved
                else "choose an allowed kind",
                source=row.gke.source,
            )


def flex_start(c: Candidate) -> Iterator[Problem]:
    """Flex-start nodes come when there is capacity, are not repaired, and go after days."""
    flexible = [pool for pool in c.pools if isinstance(pool.plan.provisioning, FlexStart)]
    offered = [pool for pool in flexible if "flex_start" in pool.row.gke.provisioning]  # or it is refused anyway
    for pool in offered:
        yield from _flex_start_pool(c, pool)
    if offered and older(c.preset.cluster.version, _FLEX_START_FROM):
        yield Problem(
            rule="flex-start-version",
            path="cluster.version",
            value=c.preset.cluster.version,
            why=f"GKE has flex-start for GPU nodes from {_FLEX_START_FROM} on",
            allowed=f">= {_FLEX_START_FROM}",
            remedy="raise cluster.version, or choose another kind of provisioning",
            source=_FLEX_START_DOCS,
        )
    if any(pool.serves for pool in offered) and c.preset.serving.wait == "ready":
        yield Problem(
            rule="flex-start-wait",
            path="serving.wait",
            value="ready",
            why="the pool starts with no node and Google says nothing about how long capacity takes, minutes or days: "
            "no deadline for a ready workload would be true, and the run would fail on one",
            allowed="accepted",
            remedy="set serving.wait to accepted, and look at the pods when there are nodes",
            source=_FLEX_START_DOCS,
        )


def _flex_start_pool(c: Candidate, pool: Pool) -> Iterator[Problem]:
    if pool.plan.auto_repair:
        yield Problem(
            rule="flex-start-repair",
            path=f"{pool.path}.auto_repair",
            value=True,
            why="GKE refuses automatic repair of flex-start nodes: a new one would have to wait for capacity again",
            allowed="false, or null",
            remedy="leave the key out",
            source=_FLEX_START_RULES,
        )
    if pool.plan.use == "standby":
        yield Problem(
            rule="flex-start-standby",
            path=f"{pool.path}.use",
            value="standby",
            why="flex-start nodes come when pods ask for them, and none is placed on a pool that stands by: it would "
            "stay empty",
            allowed="serving or draining, or another kind of provisioning",
            remedy=f"choose another {pool.path}.provisioning, or let the pool serve at once",
            source=_FLEX_START_DOCS,
        )
    if c.preset.production and pool.serves:
        yield Problem(
            rule="flex-start-ends",
            path=f"{pool.path}.provisioning.kind",
            value="flex_start",
            why=f"each node is taken away {_run_duration_s(pool)} s after it came, and another waits "
            "for capacity: a production service stands still meanwhile",
            allowed="on_demand or reservation, where the service must not stop",
            remedy="use another kind of provisioning, or set production to false",
            source=_FLEX_START_DOCS,
            severity="warning",
        )


def _run_duration_s(pool: Pool) -> int:
    kind = pool.plan.provisioning
    return kind.max_run_duration_s if isinstance(kind, FlexStart) else 0


def pool_size(c: Candidate) -> Iterator[Problem]:
    """A pool whose nodes share NVLink ends where the NVLink domain ends."""
    for pool in c.pools:
        fabric, nodes = pool.row.fabric, pool.plan.nodes
        if fabric.placement and nodes > fabric.nvlink_domain_nodes:
            yield Problem(
                rule="nvlink-domain-nodes",
                path=f"{pool.path}.nodes",
                value=nodes,
                why=f"a pool of {pool.row.machine_type} is one NVLink domain "
                f"({fabric.placement.accelerator_topology}) of {fabric.nvlink_domain_nodes} nodes; its placement "
                "policy refuses more",
                allowed=f"1 to {fabric.nvlink_domain_nodes}",
                remedy="lower it; more nodes take a second stack with its own sub-block",
                source=fabric.placement.source,
            )


def _version_problems(version: str, gke: GkeSupport, machine_type: str) -> Iterator[Problem]:
    floors = {numbers(m): floor for m, floor in gke.min_version_by_minor.items()}
    own = numbers(minor(version))
    if version in gke.known_bad_versions:
        yield Problem(
            rule="gke-version-known-bad",
            path="cluster.version",
            value=version,
            why=f"on {machine_type}, {gke.known_bad_versions[version]}",
            allowed=f"any other version that {machine_type} runs on",
            remedy="choose another patch",
            source=gke.source,
        )
    floor = floors.get(own)
    if floor is None and own > max(floors):
        return
    needed = floor or floors[min(floors)]
    if floor is None or older(version, floor):
        yield Problem(
            rule="gke-version",
            path="cluster.version",
            value=version,
            why=f"{machine_type} needs at least {needed} in that minor; older nodes cannot be created",
            allowed=", ".join(f">= {f}" for f in floors.values()) + ", or any later minor",
            remedy="raise cluster.version",
            source=gke.source,
        )


def gke_version(c: Candidate) -> Iterator[Problem]:
    """Machine types have a floor per minor; the InferencePool kind has one too."""
    version = c.preset.cluster.version
    for row in _machines(c):
        yield from _version_problems(version, row.gke, row.machine_type)
    yield from _version_problems(version, c.rows.system.gke, c.rows.system.machine_type)
    release = c.rows.release
    if isinstance(release, LlmdRelease) and older(version, release.gke_installs_inference_pool_from):
        yield Problem(
            rule="inference-pool-crd",
            path="cluster.version",
            value=version,
            why="GKE installs the InferencePool kind itself only from "
            f"{release.gke_installs_inference_pool_from} on; on older clusters the router has nothing to watch",
            allowed=f">= {release.gke_installs_inference_pool_from}",
            remedy="raise cluster.version",
            source="llm-d docs, GKE gateway: InferencePool",
        )


def _machines(c: Candidate) -> list[HardwareRow]:
    """The machine types of the accelerator pools, each once."""
    return list({row.machine_type: row for row in c.rows.pools.values()}.values())


def network_profile_version(c: Candidate) -> Iterator[Problem]:
    """Managed DRANET makes the networks of a profile from some version on."""
    version = c.preset.cluster.version
    for row in _machines(c):
        if any(_version_problems(version, row.gke, row.machine_type)):
            continue  # too old for the machines, which has been said
        profile, first = c.rows.network_profile(row), row.fabric.network_profile_from
        if profile and first and older(version, first):
            yield Problem(
                rule="network-profile-version",
                path="cluster.version",
                value=version,
                why=f"the accelerator networks of {row.machine_type} (profile {profile}) are made by managed DRANET, "
                "which older GKE has not",
                allowed=f">= {first}",
                remedy="raise cluster.version",
                source=row.fabric.source,
            )


CHECKS = (
    ssd_count,
    ssd_mode,
    raw_block_use,
    provisioning,
    flex_start,
    pool_size,
    gke_version,
    network_profile_version,
)
