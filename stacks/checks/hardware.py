"""Node pools: what GKE refuses about machine types, disks, versions and places."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.checks.candidate import Candidate
from stacks.cloud import PLACEHOLDER_RESERVATION
from stacks.problems import Problem, touches
from stacks.rows import GkeSupport, HardwareRow, LlmdRelease
from stacks.spec import FlexStart
from stacks.versions import minor, numbers, older
from stacks.wording import some

__all__ = ["CHECKS"]

_BLOCK = "/reservationBlocks/"
_SUB_BLOCK = "/reservationSubBlocks/"
_FLEX_START_FROM = "1.32.2-gke.1652000"
_FLEX_START_DOCS = "GKE docs, flex-start provisioning: requirements, at most seven days, no certain start"
_FLEX_START_RULES = "Cluster Toolkit v1.95.0, flex-start preconditions of its GKE node pool"


def ssd_count(c: Candidate) -> Iterator[Problem]:
    """A machine type takes exactly its own number of local SSDs."""
    ssd = c.rows.hardware.local_ssd
    if c.derived.local_ssd_count != ssd.count:
        yield Problem(
            rule="local-ssd-count",
            path="accelerator_pool.local_ssd_count",
            value=c.derived.local_ssd_count,
            why=f"{c.rows.hardware.machine_type} takes exactly {some(ssd.count, 'local SSD')} of {ssd.size_gib} GiB: "
            "GKE refuses any other number, with none the weights have no place, and a later change replaces the pool",
            allowed=str(ssd.count),
            remedy="leave the key out, or set it to the allowed number",
            source=ssd.source,
        )


def ssd_mode(c: Candidate) -> Iterator[Problem]:
    """A pool has the disks as a node of its machine type can give them."""
    ssd, mode = c.rows.hardware.local_ssd, c.preset.accelerator_pool.local_ssd_mode
    if ssd.count and mode not in ssd.modes:
        yield Problem(
            rule="local-ssd-mode",
            path="accelerator_pool.local_ssd_mode",
            value=mode,
            why=f"GKE does not give the local SSD of {c.rows.hardware.machine_type} to a pool this way",
            allowed=", ".join(ssd.modes),
            remedy="set it to an allowed mode; a later change replaces the pool",
            source=ssd.source,
        )


def _reservation_form(row: HardwareRow) -> str:
    form = "projects/<project>/reservations/<name>"
    if row.gke.reservation_scope == "sub_block":
        form += f"/reservationBlocks/<block>{_SUB_BLOCK}<sub-block>"
    return form


def provisioning(c: Candidate) -> Iterator[Problem]:
    """Not every machine type is sold every way."""
    kind, row = c.preset.accelerator_pool.provisioning.kind, c.rows.hardware
    allowed = row.gke.provisioning
    if kind not in allowed:
        only_reserved = allowed == ["reservation"]
        yield Problem(
            rule="provisioning",
            path="accelerator_pool.provisioning.kind",
            value=kind,
            why=f"{row.machine_type} is not offered as {kind}",
            allowed=", ".join(allowed),
            remedy=f"set it to reservation, and beamline:reservation to {_reservation_form(row)}"
            if only_reserved
            else "choose an allowed kind",
            source=row.gke.source,
        )


def flex_start(c: Candidate) -> Iterator[Problem]:
    """Flex-start nodes come when there is capacity, are not repaired, and go after days."""
    pool, path = c.preset.accelerator_pool, "accelerator_pool.provisioning.kind"
    if not isinstance(pool.provisioning, FlexStart) or "flex_start" not in c.rows.hardware.gke.provisioning:
        return  # another kind, or one that is refused anyway
    if older(c.preset.cluster.version, _FLEX_START_FROM):
        yield Problem(
            rule="flex-start-version",
            path="cluster.version",
            value=c.preset.cluster.version,
            why=f"GKE has flex-start for GPU nodes from {_FLEX_START_FROM} on",
            allowed=f">= {_FLEX_START_FROM}",
            remedy="raise cluster.version, or choose another kind of provisioning",
            source=_FLEX_START_DOCS,
        )
    if pool.auto_repair:
        yield Problem(
            rule="flex-start-repair",
            path="accelerator_pool.auto_repair",
            value=True,
            why="GKE refuses automatic repair of flex-start nodes: a new one would have to wait for capacity again",
            allowed="false, or null",
            remedy="leave the key out",
            source=_FLEX_START_RULES,
        )
    if c.preset.serving.wait == "ready":
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
    if c.preset.production:
        yield Problem(
            rule="flex-start-ends",
            path=path,
            value=pool.provisioning.kind,
            why=f"each node is taken away {pool.provisioning.max_run_duration_s} s after it came, and another waits "
            "for capacity: a production service stands still meanwhile",
            allowed="on_demand or reservation, where the service must not stop",
            remedy="use another kind of provisioning, or set production to false",
            source=_FLEX_START_DOCS,
            severity="warning",
        )


def reservation(c: Candidate) -> Iterator[Problem]:
    """Reserved nodes come from a reservation, and from one NVLink domain of it where the machine has such."""
    name, kind, row = c.settings.get("reservation"), c.preset.accelerator_pool.provisioning.kind, c.rows.hardware
    if kind not in row.gke.provisioning or touches("accelerator_pool.provisioning", c.set_aside):
        return  # the kind is wrong, which has been said
    form = _reservation_form(row)
    if kind == "reservation" and name is None:
        yield Problem(
            rule="reservation-missing",
            path="reservation",
            why="the nodes come from a reservation, and none is named; GKE would create nothing, or take another",
            allowed=form,
            remedy=f"pulumi config set beamline:reservation {form}",
            source="GKE docs, consuming reservations",
        )
    if kind != "reservation" and name is not None:
        yield Problem(
            rule="reservation-not-used",
            path="reservation",
            value=name,
            why=f"the nodes are {kind}, so this would do nothing",
            allowed="null, or accelerator_pool.provisioning.kind: reservation",
            remedy="remove it, or set overrides.accelerator_pool.provisioning.kind to reservation",
            source="GKE docs, consuming reservations",
        )
    if kind == "reservation" and name is not None and _SUB_BLOCK in form and _SUB_BLOCK not in name:
        yield Problem(
            rule="reservation-scope",
            path="reservation",
            value=name,
            why=f"one NVLink domain of {row.machine_type} is one sub-block; nodes of several cannot reach each other "
            "over NVLink",
            allowed=form,
            remedy="name the sub-block: gcloud beta compute reservations sub-blocks list",
            source=row.gke.source,
        )


def reservation_owner(c: Candidate) -> Iterator[Problem]:
    """GKE consumes a part of a reservation only in the project that owns it."""
    name, project = c.settings.get("reservation") or "", c.settings.get("project")
    parts = name.split("/")
    if PLACEHOLDER_RESERVATION in parts:
        return  # not the user's own, which is said elsewhere
    if _BLOCK in name and parts[0] == "projects" and project and parts[1] != project:
        yield Problem(
            rule="reservation-owner",
            path="reservation",
            value=name,
            why=f"the block is of a reservation in project {parts[1]}; GKE consumes no blocks of shared reservations",
            allowed=f"a reservation in {project}",
            remedy="run the stack in the project that owns the reservation, or name one of this project",
            source="Cluster Toolkit v1.95.0, reservation preconditions of its GKE node pool",
        )


def pool_size(c: Candidate) -> Iterator[Problem]:
    """A pool whose nodes share NVLink ends where the NVLink domain ends."""
    fabric, nodes = c.rows.hardware.fabric, c.preset.accelerator_pool.nodes
    if fabric.placement and nodes > fabric.nvlink_domain_nodes:
        yield Problem(
            rule="nvlink-domain-nodes",
            path="accelerator_pool.nodes",
            value=nodes,
            why=f"a pool of {c.rows.hardware.machine_type} is one NVLink domain "
            f"({fabric.placement.accelerator_topology}) of {fabric.nvlink_domain_nodes} nodes; its placement policy "
            "refuses more",
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
    yield from _version_problems(version, c.rows.hardware.gke, c.rows.hardware.machine_type)
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


def network_profile_version(c: Candidate) -> Iterator[Problem]:
    """Managed DRANET makes the networks of a profile from some version on."""
    row, version = c.rows.hardware, c.preset.cluster.version
    fabric = row.fabric
    if any(_version_problems(version, row.gke, row.machine_type)):
        return  # too old for the machines, which has been said
    profile = c.rows.network_profile
    if profile and fabric.network_profile_from and older(version, fabric.network_profile_from):
        yield Problem(
            rule="network-profile-version",
            path="cluster.version",
            value=version,
            why=f"the accelerator networks of {row.machine_type} (profile {profile}) are "
            "made by managed DRANET, which older GKE has not",
            allowed=f">= {fabric.network_profile_from}",
            remedy="raise cluster.version",
            source=fabric.source,
        )


CHECKS = (
    ssd_count,
    ssd_mode,
    provisioning,
    flex_start,
    reservation,
    reservation_owner,
    pool_size,
    gke_version,
    network_profile_version,
)
