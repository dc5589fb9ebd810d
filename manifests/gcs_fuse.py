"""Weights that a pod mounts straight from their bucket, by GKE's Cloud Storage FUSE driver.

The driver adds a container to pods with its annotation, which meets Pod Security's ``restricted`` level, talks to Cloud
Storage in the pod's network under the pod's identity, and keeps what it has fetched in a cache of the pod's own. The
cache is on ephemeral storage, holds every set whole, and is gone with the pod.

- Options are Google's for serving: nothing is looked up or fetched twice, and a file comes in parallel pieces.
- Objects never change under a pod: new weights have a new prefix. So what is known of them is kept for ever.
- The engine's user owns the files: Cloud Storage knows no owners.
- The added container's CPU is not limited (0), so that it may use idle cores while weights load.
Sources: https://cloud.google.com/kubernetes-engine/docs/how-to/cloud-storage-fuse-csi-driver-perf,
.../cloud-storage-fuse-csi-driver-sidecar; GoogleCloudPlatform/gcs-fuse-csi-driver 5fcdc04, pkg/webhook/sidecar_spec.go
"""

from __future__ import annotations

import math
from typing import Any

from manifests.fabric_claims import capabilities
from manifests.pod_security import runs_as
from manifests.weight_sets import WeightSet, weight_sets
from stacks.memory import GIB, MIB
from stacks.resolve import StackSpec
from stacks.spec import Bucket

__all__ = ["bucket_annotations", "bucket_mounts", "bucket_volumes"]

_DRIVER = "gcsfuse.csi.storage.gke.io"
_PREFIX = "gke-gcsfuse"


def bucket_annotations(spec: StackSpec) -> dict[str, str]:
    """Annotations of a pod: add the container, and what it may use."""
    memory, ephemeral = f"{spec.derived.sidecar_memory_gib}Gi", f"{spec.derived.sidecar_ephemeral_gib}Gi"
    return {
        f"{_PREFIX}/volumes": "true",
        f"{_PREFIX}/cpu-request": f"{spec.derived.sidecar_cpu_millicores}m",
        f"{_PREFIX}/cpu-limit": "0",
        f"{_PREFIX}/memory-request": memory,
        f"{_PREFIX}/memory-limit": memory,
        f"{_PREFIX}/ephemeral-storage-request": ephemeral,
        f"{_PREFIX}/ephemeral-storage-limit": ephemeral,
    }


def bucket_volumes(spec: StackSpec) -> list[dict[str, Any]]:
    """Each set as a volume of its own: a folder of its bucket."""
    return [_volume(spec, weights) for weights in weight_sets(spec)]


def bucket_mounts(spec: StackSpec) -> list[dict[str, Any]]:
    """Their mounts, each where the set is said to be."""
    return [{"name": _name(s), "mountPath": s.path, "readOnly": True} for s in weight_sets(spec)]


def _name(weights: WeightSet) -> str:
    return f"weights-{weights.role}"


def _volume(spec: StackSpec, weights: WeightSet) -> dict[str, Any]:
    if not isinstance(weights.source, Bucket):
        raise TypeError(f"{spec.name} mounts weights that are in no bucket, which its checks refuse")
    attributes = {"bucketName": weights.source.bucket, "mountOptions": _options(spec, weights)}
    return {"name": _name(weights), "csi": {"driver": _DRIVER, "readOnly": True, "volumeAttributes": attributes}}


def _cache_mib(spec: StackSpec, weights: WeightSet) -> int:
    """A cache that is too small by one file throws out a shard."""
    return math.ceil((weights.size_bytes + spec.rows.weight_storage.gcs_fuse.other_files_gib * GIB) / MIB)


def _options(spec: StackSpec, weights: WeightSet) -> str:
    user = runs_as(spec.rows.engine_user.uid, capabilities(spec))
    return ",".join(
        (
            f"only-dir={weights.place}",
            "implicit-dirs",
            f"uid={user['runAsUser']}",
            f"gid={user['runAsGroup']}",
            "file-mode=444",
            "dir-mode=555",
            "metadata-cache:ttl-secs:-1",
            "metadata-cache:stat-cache-max-size-mb:-1",
            "metadata-cache:type-cache-max-size-mb:-1",
            "file-system:kernel-list-cache-ttl-secs:-1",
            f"file-cache:max-size-mb:{_cache_mib(spec, weights)}",
            "file-cache:cache-file-for-range-read:true",
            "file-cache:enable-parallel-downloads:true",
            "read_ahead_kb=1024",
        )
    )
