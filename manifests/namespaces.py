"""Two namespaces, so that only the pods that must write to the node may.

Seeding writes a folder of the node's own filesystem, which takes a ``hostPath`` volume, and Pod Security admits those
only at the level ``privileged``. The level holds for a whole namespace: with one namespace, whoever may create pods
beside the engine could mount the node's root. So seeding has a namespace of its own, in which nothing else runs, and
the engine reads the same folder through a PersistentVolume of type ``local`` (see ``manifests.weight_volume``), which
the level ``restricted`` admits: its path is fixed by an object that only cluster administrators may write.

Levels are pinned to the cluster's minor version, so that an upgrade changes no rules by itself.
Source: https://kubernetes.io/docs/concepts/security/pod-security-standards/
"""

from __future__ import annotations

from manifests.naming import ENGINE, WEIGHTS, engine_namespace, labels, weights_namespace
from manifests.objects import KubernetesObject
from stacks.resolve import StackSpec
from stacks.versions import minor

__all__ = ["namespaces"]

_LEVEL = "pod-security.kubernetes.io"


def namespaces(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """The engine's namespace (restricted) and the seeding pods' (privileged)."""
    return (
        _namespace(spec, "engine-namespace", engine_namespace(spec), component=ENGINE, level="restricted"),
        _namespace(spec, "weights-namespace", weights_namespace(spec), component=WEIGHTS, level="privileged"),
    )


def _namespace(spec: StackSpec, name: str, namespace: str, *, component: str, level: str) -> KubernetesObject:
    version = f"v{minor(spec.preset.cluster.version)}"
    return KubernetesObject(
        area="weights",
        name=name,
        body={
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": namespace,
                "labels": {
                    **labels(spec, component),
                    f"{_LEVEL}/enforce": level,
                    f"{_LEVEL}/enforce-version": version,
                },
            },
        },
    )
