"""What a pod needs to read weights, by where they are: annotations, a step before the engine, volumes and mounts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from manifests.await_weights import await_weights
from manifests.gcs_fuse import bucket_annotations, bucket_mounts, bucket_volumes
from manifests.weight_sets import MOUNT_PATH
from manifests.weight_volume import claim_name
from stacks.resolve import StackSpec
from stacks.spec import GcsFuse, LocalSsd

__all__ = ["WeightMounts", "weight_mounts"]


@dataclass(frozen=True)
class WeightMounts:
    """Parts of a pod template and of its engine's container."""

    volumes: list[dict[str, Any]]
    mounts: list[dict[str, Any]]
    annotations: Mapping[str, str] = field(default_factory=dict)
    before: list[dict[str, Any]] = field(default_factory=list)

    def metadata(self, labels: Mapping[str, str]) -> dict[str, Any]:
        """Metadata of the pod template."""
        return {"labels": dict(labels), **({"annotations": dict(self.annotations)} if self.annotations else {})}


def weight_mounts(spec: StackSpec) -> WeightMounts:
    """Return what every engine pod of a stack gets."""
    storage = spec.preset.model.storage
    if isinstance(storage, GcsFuse):
        return WeightMounts(bucket_volumes(spec), bucket_mounts(spec), annotations=bucket_annotations(spec))
    volume = {"name": "weights", "persistentVolumeClaim": {"claimName": claim_name(spec), "readOnly": True}}
    mount = {"name": "weights", "mountPath": MOUNT_PATH, "readOnly": True}
    # Only a copy can be half there when a pod starts.
    before = [await_weights(spec, [dict(mount)])] if isinstance(storage, LocalSsd) else []
    return WeightMounts([volume], [mount], before=before)
