"""Whether GKE offers the version, for nodes and, in its channel, for the control plane; or what a cluster runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from beamline.preflight.checks.applied import Applied, look_applied
from beamline.preflight.findings import Check, Finding
from beamline.preflight.google import NotFoundError
from beamline.preflight.target import Target
from beamline.preflight.world import World
from stacks.spec import ExistingCluster, GcsFuse, NewCluster
from stacks.versions import minor, numbers, older

__all__ = ["CLUSTER", "VERSIONS", "Control", "Offered", "judge_cluster", "judge_versions"]

_POOLS = 2
"""Of a stack: accelerators and system."""


@dataclass(frozen=True)
class Offered:
    """What GKE offers in the region, and what of the stack runs already."""

    nodes: tuple[str, ...] = ()
    channels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    applied: Applied = field(default_factory=Applied)


def _look(target: Target, world: World) -> Offered:
    answer = world.google.call(
        "container",
        "projects.locations.getServerConfig",
        name=f"projects/{target.project}/locations/{target.region}",
    )
    channels = {row["channel"]: tuple(row.get("validVersions", [])) for row in answer.get("channels", [])}
    return Offered(tuple(answer["validNodeVersions"]), channels, look_applied(target, world))


def judge_versions(target: Target, offered: Offered) -> list[Finding]:
    """Compare the pinned version with what is offered for nodes and, in its channel, for the control plane.

    What is no longer offered is wrong for what has to be made or upgraded to it, not for what runs.
    """
    cluster, applied = target.spec.preset.cluster, offered.applied
    running = applied.node_versions if len(applied.node_versions) == _POOLS else ()
    found = [_listed(cluster.version, "nodes", offered.nodes, running)]
    if isinstance(cluster, NewCluster):
        listed = offered.channels.get(cluster.release_channel, ())
        runs = (applied.version,) if applied.version else ()
        found.append(_listed(cluster.version, f"control planes in {cluster.release_channel}", listed, runs))
    return found


def _listed(version: str, of: str, offered: tuple[str, ...], running: tuple[str, ...]) -> Finding:
    asked = f"GKE offers {version} for {of}"
    if version in offered:
        return Finding(asked, "it does", path="cluster.version")
    if running and all(runs and not older(runs, version) for runs in running):
        runs = ", ".join(sorted(set(running), key=numbers))
        return Finding(
            asked,
            f"no longer, and nothing new is needed: the stack's run {runs}",
            "another version before new ones can be made",
            path="cluster.version",
        )
    alike = [other for other in offered if minor(other) == minor(version)] or list(offered)
    newest = ", ".join(sorted(alike, key=numbers, reverse=True)[:6]) or "none"
    return Finding.problem(
        "version-not-offered",
        "cluster.version",
        asked,
        found=f"it does not; the newest it offers: {newest}",
        needed="a version that is offered for both, at or above the machine's floor",
        remedy="pin one of them in overrides.cluster.version",
    )


VERSIONS: Check[Offered] = Check(
    id="versions",
    asks="GKE offers the version",
    source="GKE API, projects.locations.getServerConfig",
    rules=("version-not-offered",),
    look=_look,
    judge=judge_versions,
)


@dataclass(frozen=True)
class Control:
    """An existing cluster: its state and the version of its control plane; both empty where there is none."""

    status: str = ""
    version: str = ""
    mounts_buckets: bool = False
    """Whether GKE's Cloud Storage FUSE driver is on."""


def _look_cluster(target: Target, world: World) -> Control:
    name = f"projects/{target.project}/locations/{target.region}/clusters/{target.cluster_name}"
    try:
        answer = world.google.call("container", "projects.locations.clusters.get", name=name)
    except NotFoundError:
        return Control()
    driver = answer.get("addonsConfig", {}).get("gcsFuseCsiDriverConfig", {})
    return Control(answer["status"], answer["currentMasterVersion"], bool(driver.get("enabled")))


def judge_cluster(target: Target, control: Control) -> list[Finding]:
    """Tell whether the cluster that is named is there, runs, and is not older than the nodes."""
    name, version = target.cluster_name, target.spec.preset.cluster.version
    asked = f"the cluster {name} takes nodes of {version}"
    if not control.status:
        return [
            Finding.problem(
                "cluster-missing",
                "cluster.name",
                asked,
                found=f"there is no cluster {name} in {target.region}",
                needed="a regional cluster that is there",
                remedy="correct cluster.name or region, or let the stack make one (cluster.kind: new)",
            )
        ]
    if control.status not in ("RUNNING", "RECONCILING"):
        return [
            Finding.problem(
                "cluster-not-running",
                "cluster.name",
                asked,
                found=f"it is {control.status}",
                needed="RUNNING",
                remedy=f"gcloud container clusters describe {name} --region {target.region} says why",
            )
        ]
    if older(control.version, version):
        return [
            Finding.problem(
                "cluster-older",
                "cluster.version",
                asked,
                found=f"its control plane is {control.version}; nodes must not be newer",
                needed=f"a control plane of {version} or newer",
                remedy=f"set cluster.version to {control.version} or older, or upgrade the control plane first",
            )
        ]
    return [Finding(asked, f"{control.status}, {control.version}", path="cluster.name"), *_mounting(target, control)]


def _mounting(target: Target, control: Control) -> list[Finding]:
    """Tell whether the cluster can mount the bucket with weights, where pods do."""
    if not isinstance(target.spec.preset.model.storage, GcsFuse):
        return []
    name, path = target.cluster_name, "model.storage.kind"
    asked = f"the cluster {name} mounts buckets"
    if control.mounts_buckets:
        return [Finding(asked, "the Cloud Storage FUSE CSI driver is on", path=path)]
    return [
        Finding.problem(
            "cluster-gcs-fuse",
            path,
            asked,
            found="the Cloud Storage FUSE CSI driver is off: pods would wait for their volume for ever",
            needed="the add-on, or model.storage.kind: local_ssd",
            remedy=f"gcloud container clusters update {name} --region {target.region} "
            "--update-addons=GcsFuseCsiDriver=ENABLED",
        )
    ]


CLUSTER: Check[Control] = Check(
    id="cluster",
    asks="the existing cluster takes the nodes",
    source="GKE docs, version skew of nodes and control plane",
    rules=("cluster-missing", "cluster-not-running", "cluster-older", "cluster-gcs-fuse"),
    look=_look_cluster,
    judge=judge_cluster,
    applies=lambda target: isinstance(target.spec.preset.cluster, ExistingCluster),
)
