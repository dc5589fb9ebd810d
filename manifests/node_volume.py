"""A folder of whichever node a pod runs on: one PersistentVolume of type ``local`` for all nodes, and its claim.

The volume's node affinity names the nodes of all serving pools by their labels, so that one volume serves them all,
each node with its own folder. That admits its readers to a ``restricted`` namespace, where ``hostPath`` volumes are
refused: the path is fixed by an object that only cluster administrators may write. Pools that do not serve are not in
it, because their coming and going would make it another volume, and its readers other pods.

How Kubernetes treats it (1.35): the scheduler and the kubelet compare the affinity with the node's labels, and the
kubelet bind-mounts the folder (pkg/volume/local). While the folder is missing, the mount fails and is tried again: a
pod waits for whoever makes it. Access modes of local volumes are recorded and not enforced.

Volume and claim cannot be changed in place, so both names carry a hash of what they say.
Source: https://kubernetes.io/docs/concepts/storage/volumes/#local
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from manifests.naming import content_name, engine_namespace, labels, metadata
from manifests.objects import KubernetesObject
from manifests.placement import serving_expressions
from stacks.resolve import StackSpec

__all__ = ["NodeVolume", "volume_and_claim"]


@dataclass(frozen=True)
class NodeVolume:
    """One folder of every serving node; ``gib`` is recorded and not enforced."""

    path: str
    access: Literal["ReadOnlyMany", "ReadWriteMany"]
    gib: int

    def spec(self, spec: StackSpec) -> dict[str, Any]:
        """What decides the volume's identity."""
        return {
            "accessModes": [self.access],
            "capacity": {"storage": f"{self.gib}Gi"},
            "local": {"path": self.path},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": serving_expressions(spec)}]}},
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "",
            "volumeMode": "Filesystem",
        }


def volume_and_claim(
    spec: StackSpec, volume: Mapping[str, Any], *, component: str, names: tuple[str, str]
) -> tuple[KubernetesObject, ...]:
    """A volume with this spec, reserved for its claim, and the claim; ``names`` are those inside their area."""
    claim = content_name(component, volume)
    volume_name = f"{engine_namespace(spec)}-{claim}"
    return (
        KubernetesObject(
            area="weights",
            name=names[0],
            body={
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": volume_name, "labels": labels(spec, component)},
                "spec": {**volume, "claimRef": {"namespace": engine_namespace(spec), "name": claim}},
            },
        ),
        KubernetesObject(
            area="weights",
            name=names[1],
            body={
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": metadata(spec, claim, component=component),
                "spec": {
                    "accessModes": volume["accessModes"],
                    "resources": {"requests": volume["capacity"]},
                    "storageClassName": "",
                    "volumeMode": "Filesystem",
                    "volumeName": volume_name,
                },
            },
            after=(*(() if spec.preset.serving.existing_namespace else ("engine-namespace",)), names[0]),
        ),
    )
