"""The engine's view of the node's weights: one PersistentVolume of type ``local`` for all nodes, and its claim.

A ``local`` volume is a folder of whichever node the pod runs on. Its node affinity here names all accelerator nodes by
their labels, so that one volume serves them all, each node with its own copy. Mounted read-only: many readers, no
writer. That admits the engine to a ``restricted`` namespace, where ``hostPath`` volumes are refused.

How Kubernetes treats it (1.35): the scheduler and the kubelet compare the affinity with the node's labels, and the
kubelet bind-mounts the folder (pkg/volume/local). While the folder is missing, the mount fails and is tried again:
the engine waits for the seeding pod to make it. Access modes of local volumes are recorded and not enforced.

Volume and claim cannot be changed in place, so both names carry a hash of what they say.
Source: https://kubernetes.io/docs/concepts/storage/volumes/#local
"""

from __future__ import annotations

from typing import Any

from manifests.naming import WEIGHTS, content_name, engine_namespace, labels, metadata
from manifests.objects import KubernetesObject
from manifests.placement import accelerator_labels
from manifests.weight_sets import HOST_FOLDER
from stacks.memory import GIB
from stacks.resolve import StackSpec

__all__ = ["claim_name", "weight_volume"]


def _volume_spec(spec: StackSpec) -> dict[str, Any]:
    """What decides the volume's identity."""
    gib = -(-spec.derived.weights_bytes // GIB)
    expressions = [{"key": key, "operator": "In", "values": [value]} for key, value in accelerator_labels(spec).items()]
    return {
        "accessModes": ["ReadOnlyMany"],
        "capacity": {"storage": f"{gib}Gi"},
        "local": {"path": HOST_FOLDER},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}},
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "",
        "volumeMode": "Filesystem",
    }


def claim_name(spec: StackSpec) -> str:
    """Name of the claim the engine mounts."""
    return content_name(WEIGHTS, _volume_spec(spec))


def weight_volume(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """The volume, reserved for the claim, and the claim."""
    volume, claim = _volume_spec(spec), claim_name(spec)
    volume_name = f"{engine_namespace(spec)}-{claim}"
    return (
        KubernetesObject(
            area="weights",
            name="volume",
            body={
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": volume_name, "labels": labels(spec, WEIGHTS)},
                "spec": {**volume, "claimRef": {"namespace": engine_namespace(spec), "name": claim}},
            },
        ),
        KubernetesObject(
            area="weights",
            name="claim",
            body={
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": metadata(spec, claim, component=WEIGHTS),
                "spec": {
                    "accessModes": volume["accessModes"],
                    "resources": {"requests": volume["capacity"]},
                    "storageClassName": "",
                    "volumeMode": "Filesystem",
                    "volumeName": volume_name,
                },
            },
            after=(*(() if spec.preset.serving.existing_namespace else ("engine-namespace",)), "volume"),
        ),
    )
