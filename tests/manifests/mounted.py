"""Weights that pods mount from where they are: what a pod mounts, and what its engine loads."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from .cluster_objects import Body, Objects

__all__ = ["bucket_readers", "mounted_agree"]

_FUSE = "gcsfuse.csi.storage.gke.io"


def _buckets(pod: Body) -> dict[str, Body]:
    return {v["name"]: v["csi"] for v in pod.get("volumes", []) if v.get("csi", {}).get("driver") == _FUSE}


def bucket_readers(templates: dict[str, Body]) -> list[str]:
    """Names of the pods that mount a bucket."""
    return [name for name, template in templates.items() if _buckets(template["spec"])]


def mounted_agree(objects: Objects, who: str, template: Body, loaded: Collection[str]) -> Iterator[str]:
    """What the engine loads is mounted, read-only, nothing else is, and nobody waits for a copy."""
    pod, buckets = template["spec"], _buckets(template["spec"])
    if any(container.get("restartPolicy") != "Always" for container in pod.get("initContainers", [])):
        yield f"{who} waits for weights that nobody copies"
    mounts = {m["name"]: m for m in pod["containers"][0]["volumeMounts"]}
    if buckets:
        yield from _bucket_mounts(who, template, buckets, mounts, loaded)
        return
    (claim,) = (v["persistentVolumeClaim"]["claimName"] for v in pod["volumes"] if v["name"] == "weights")
    volume = objects.one("PersistentVolume", objects.one("PersistentVolumeClaim", claim)["spec"]["volumeName"])["spec"]
    if not volume["csi"]["readOnly"] or volume["accessModes"] != ["ReadOnlyMany"]:
        yield "the disk is not attached read-only"
    if volume["persistentVolumeReclaimPolicy"] != "Retain":
        yield "the disk goes with the stack"
    for path in loaded:
        if not path.startswith(f"{mounts['weights']['mountPath']}/"):
            yield f"{who} loads {path}, which is on no disk"


def _bucket_mounts(
    who: str, template: Body, buckets: dict[str, Body], mounts: dict[str, Body], loaded: Collection[str]
) -> Iterator[str]:
    annotations = template["metadata"].get("annotations", {})
    if annotations.get("gke-gcsfuse/volumes") != "true":
        yield f"{who} mounts a bucket, and nothing adds the container that does it"
    cache_gib = int(annotations.get("gke-gcsfuse/ephemeral-storage-limit", "0Gi").removesuffix("Gi"))
    cached_mib = 0
    for name, csi in buckets.items():
        options = csi["volumeAttributes"]["mountOptions"].split(",")
        cached_mib += next(int(o.rpartition(":")[2]) for o in options if o.startswith("file-cache:max-size-mb:"))
        if not (csi["readOnly"] and mounts[name]["readOnly"]):
            yield f"{who} may write to the bucket"
        if f"uid={template['spec']['securityContext']['runAsUser']}" not in options:
            yield f"{who} does not own what it mounts"
    if cached_mib > 1024 * cache_gib:
        yield f"{who}: the cache is larger than its container may be"
    if {mounts[name]["mountPath"] for name in buckets} != set(loaded):
        yield f"{who} loads {sorted(loaded)}, mounted are {sorted(mounts[name]['mountPath'] for name in buckets)}"
