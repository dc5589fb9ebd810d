"""Where weights are read: whether this storage can have them, and whether these nodes can have this storage."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.checks.candidate import Candidate
from stacks.problems import Problem
from stacks.spec import ExistingCluster, GcsFuse, HuggingFace, HyperdiskMl, WeightSource
from stacks.versions import older
from stacks.weight_storage import nodes_that_mount
from stacks.wording import some

__all__ = ["CHECKS"]

_HYPERDISK_ML = "hyperdisk-ml"
_KIND = "model.storage.kind"
_FUSE_DOCS = "GKE docs, Cloud Storage FUSE CSI driver"


def _sources(c: Candidate) -> Iterator[tuple[str, WeightSource]]:
    yield "model.weights", c.preset.model.weights
    if c.preset.serving.speculation:
        yield "serving.speculation.weights", c.preset.serving.speculation.weights


def mounted_source(c: Candidate) -> Iterator[Problem]:
    """A bucket can be mounted, the model hub cannot."""
    storage = c.preset.model.storage
    hub = [path for path, source in _sources(c) if isinstance(source, HuggingFace)]
    if isinstance(storage, GcsFuse) and hub:
        yield Problem(
            rule="gcs-fuse-source",
            path=_KIND,
            value=storage.kind,
            why=f"Cloud Storage FUSE mounts buckets; from the model hub (huggingface) would come {' and '.join(hub)}",
            allowed="local_ssd, which copies from the hub, too; or weights in a bucket",
            remedy="copy them into a bucket and name that, or set it to local_ssd",
            source=_FUSE_DOCS,
        )


def fuse_version(c: Candidate) -> Iterator[Problem]:
    """Older drivers do not know all of the options."""
    row, version = c.rows.weight_storage.gcs_fuse, c.preset.cluster.version
    if isinstance(c.preset.model.storage, GcsFuse) and older(version, row.first_version):
        yield Problem(
            rule="gcs-fuse-version",
            path="cluster.version",
            value=version,
            why="its Cloud Storage FUSE driver does not take all options that the weights are mounted with",
            allowed=f">= {row.first_version}",
            remedy="raise cluster.version, or set model.storage.kind to local_ssd",
            source=row.source,
        )


def fuse_addon(c: Candidate) -> Iterator[Problem]:
    """Of a cluster that is there already, only the cluster knows."""
    cluster = c.preset.cluster
    if isinstance(c.preset.model.storage, GcsFuse) and isinstance(cluster, ExistingCluster):
        yield Problem(
            rule="gcs-fuse-addon",
            path=_KIND,
            value=c.preset.model.storage.kind,
            why=f"pods mount a bucket by an add-on of GKE, and only cluster {cluster.name} knows whether it is on; "
            "without it they wait for their volume for ever",
            allowed="a cluster with the Cloud Storage FUSE CSI driver on",
            remedy="beamline preflight looks; its owner switches it on: gcloud container clusters update "
            f"{cluster.name} --update-addons=GcsFuseCsiDriver=ENABLED",
            source=_FUSE_DOCS,
            severity="warning",
        )


def disk_on_machine(c: Candidate) -> Iterator[Problem]:
    """Not every machine type attaches every kind of disk, nor every volume of the kind."""
    storage, disks = c.preset.model.storage, c.rows.hardware.data_disks
    if not isinstance(storage, HyperdiskMl):
        return
    if _HYPERDISK_ML not in disks.types:
        yield Problem(
            rule="hyperdisk-ml-machine",
            path=_KIND,
            value=storage.kind,
            why=f"Hyperdisk ML is not documented to attach to {c.rows.hardware.machine_type}; its pods would stay in "
            "ContainerCreating",
            allowed=f"local_ssd or gcs_fuse here; data disks of this machine type: {', '.join(disks.types)}",
            remedy="set it to another storage, or choose another machine type",
            source=disks.source,
        )
    elif disks.hyperdisk_ml_made_from:
        yield Problem(
            rule="hyperdisk-ml-too-old",
            path="model.storage.disk",
            value=storage.disk,
            why=f"{c.rows.hardware.machine_type} attaches no Hyperdisk ML volume made before "
            f"{disks.hyperdisk_ml_made_from}, and only the project knows when this one was made",
            allowed="a volume made on that day or later",
            remedy="beamline preflight looks; an older one is copied by a snapshot into a new one",
            source=disks.source,
            severity="warning",
        )


def disk_source(c: Candidate) -> Iterator[Problem]:
    """Of a disk that somebody filled, the source only says what should be on it."""
    if not isinstance(c.preset.model.storage, HyperdiskMl):
        return
    for path, source in _sources(c):
        if not isinstance(source, HuggingFace):
            continue
        if source.token_secret:
            yield Problem(
                rule="token-unused",
                path=f"{path}.token_secret",
                value=source.token_secret,
                why="nothing is downloaded from the hub: the weights are on the disk, and no pod asks for a token",
                allowed="null with model.storage.kind: hyperdisk_ml",
                remedy="remove it",
                source="docs/weights.md",
            )
        yield Problem(
            rule="disk-revision",
            path=f"{path}.revision",
            value=source.revision,
            why=f"the disk is read as it was filled, in its folder {source.repository}; another revision here changes "
            "no pod",
            allowed="the revision that was copied to the disk",
            remedy="for another revision fill another disk, and name that",
            source="docs/weights.md",
            severity="note",
        )


def disk_throughput(c: Candidate) -> Iterator[Problem]:
    """Google asks for throughput by the node where many nodes share a volume."""
    storage, nodes, row = c.preset.model.storage, nodes_that_mount(c.preset), c.rows.weight_storage.hyperdisk_ml
    if not isinstance(storage, HyperdiskMl) or nodes <= row.few_nodes:
        return
    needed = nodes * row.mib_per_s_per_node_beyond
    if storage.throughput_mib_per_s < needed:
        yield Problem(
            rule="hyperdisk-ml-throughput",
            path="model.storage.throughput_mib_per_s",
            value=storage.throughput_mib_per_s,
            why=f"{some(nodes, 'node')} share the volume; above {row.few_nodes} it has to have "
            f"{row.mib_per_s_per_node_beyond} MiB/s for each",
            allowed=f">= {needed}",
            remedy="gcloud compute disks update --provisioned-throughput, and write the new value here",
            source=row.source,
        )


CHECKS = (mounted_source, fuse_version, fuse_addon, disk_on_machine, disk_source, disk_throughput)
