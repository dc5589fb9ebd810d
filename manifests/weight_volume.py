"""The volume that engines read weights from, where that is a disk: the node's own, or one that all nodes attach.

Mounted read-only: many readers, no writer. On local SSD it is the folder that seeding fills, each node with its own
copy; the engine waits for seeding to make it (see ``manifests.node_volume``). A Hyperdisk ML volume is attached to each
node that runs an engine; it is somebody else's, so it is kept when the stack goes.
Source: https://cloud.google.com/kubernetes-engine/docs/how-to/persistent-volumes/hyperdisk-ml
"""

from __future__ import annotations

from typing import Any

from manifests.local_ssd import weights_folder
from manifests.naming import WEIGHTS, content_name
from manifests.node_volume import NodeVolume, volume_and_claim
from manifests.objects import KubernetesObject
from stacks.memory import GIB
from stacks.resolve import StackSpec
from stacks.spec import GcsFuse, HyperdiskMl

__all__ = ["claim_name", "weight_volume"]

_ZONE = "topology.gke.io/zone"
"""Label that the driver's own agent puts on the nodes it serves."""


def _volume(spec: StackSpec) -> dict[str, Any]:
    """What decides the volume's identity."""
    gib, storage = -(-spec.derived.weights_bytes // GIB), spec.preset.model.storage
    if not isinstance(storage, HyperdiskMl):
        return NodeVolume(path=weights_folder(spec), access="ReadOnlyMany", gib=gib).spec(spec)
    project, zone = spec.settings.project, spec.settings.zone
    term = {"key": _ZONE, "operator": "In", "values": [zone]}
    return {
        "accessModes": ["ReadOnlyMany"],
        "capacity": {"storage": f"{gib}Gi"},
        "csi": {
            "driver": "pd.csi.storage.gke.io",
            "volumeHandle": f"projects/{project}/zones/{zone}/disks/{storage.disk}",
            "fsType": "ext4",
            "readOnly": True,
        },
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}},
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "",
        "volumeMode": "Filesystem",
    }


def claim_name(spec: StackSpec) -> str:
    """Name of the claim the engine mounts."""
    return content_name(WEIGHTS, _volume(spec))


def weight_volume(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """The volume, reserved for the claim, and the claim; none where pods mount a bucket."""
    if isinstance(spec.preset.model.storage, GcsFuse):
        return ()
    return volume_and_claim(spec, _volume(spec), component=WEIGHTS, names=("volume", "claim"))
