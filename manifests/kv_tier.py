"""Where an engine's KV tier on local SSD lives.

On ephemeral storage it is an ``emptyDir``, which the kubelet bounds and removes with the pod. On raw block it is a
folder named by the pod's uid on the node's file system, bounded by the engine; ``shell/local-ssd.sh`` removes those of
pods that are gone.
"""

from __future__ import annotations

from typing import Any

from manifests.local_ssd import is_raw_block, kv_tier_folder
from manifests.naming import content_name
from manifests.node_volume import NodeVolume, volume_and_claim
from manifests.objects import KubernetesObject
from stacks.memory import GIB
from stacks.resolve import StackSpec

__all__ = [
    "KV_TIER_PATH",
    "has_local_ssd_tier",
    "has_unbounded_tier",
    "kv_tier_environment",
    "kv_tier_mount",
    "kv_tier_objects",
    "kv_tier_volume",
]

KV_TIER_PATH = "/kv-tier"
_NAME = "kv-tier"
_FOLDER = "KV_TIER_FOLDER"


def has_local_ssd_tier(spec: StackSpec) -> bool:
    """Whether KV blocks move to local SSD."""
    return spec.preset.serving.kv_cache.offload.local_ssd_gib > 0


def has_unbounded_tier(spec: StackSpec) -> bool:
    """Whether local SSD is below host DRAM in an engine that does not bound it there."""
    tiers = spec.preset.serving.kv_cache.offload
    below = tiers.host_dram_gib > 0 and tiers.local_ssd_gib > 0
    return below and not spec.rows.engine.offload.bounds_ssd_below_dram


def _folder(spec: StackSpec) -> dict[str, Any]:
    per_node = spec.derived.replicas_per_node * spec.derived.ssd_tier_bytes_per_replica
    gib = -(-per_node // spec.derived.nodes_per_replica // GIB)
    return NodeVolume(path=kv_tier_folder(), access="ReadWriteMany", gib=gib).spec(spec)


def kv_tier_objects(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """Volume and claim of the node's folder; none on ephemeral storage."""
    if not (has_local_ssd_tier(spec) and is_raw_block(spec)):
        return ()
    return volume_and_claim(spec, _folder(spec), component=_NAME, names=("kv-tier-volume", "kv-tier-claim"))


def kv_tier_volume(spec: StackSpec) -> dict[str, Any]:
    """The volume of a pod with a tier on local SSD."""
    if is_raw_block(spec):
        return {"name": _NAME, "persistentVolumeClaim": {"claimName": content_name(_NAME, _folder(spec))}}
    return {"name": _NAME, "emptyDir": {}}


def kv_tier_mount(spec: StackSpec, path: str = KV_TIER_PATH) -> dict[str, Any]:
    """The mount of that volume in its container."""
    own = {"subPathExpr": f"$({_FOLDER})"} if is_raw_block(spec) else {}
    return {"name": _NAME, "mountPath": path, **own}


def kv_tier_environment(spec: StackSpec) -> list[dict[str, Any]]:
    """What names the pod's own folder."""
    if not is_raw_block(spec):
        return []
    return [{"name": _FOLDER, "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}]
