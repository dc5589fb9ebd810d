"""Two namespaces of the stack's own, so that only the pods that must write to the node may.

Seeding writes a folder of the node's own filesystem, which takes a ``hostPath`` volume, and Pod Security admits those
only at the level ``privileged``. The level holds for a whole namespace: with one namespace, whoever may create pods
beside the engine could mount the node's root. So seeding has a namespace of its own, in which nothing else runs, and
the engine reads the same folder through a PersistentVolume of type ``local`` (see ``manifests.weight_volume``), which
the level ``restricted`` admits: its path is fixed by an object that only cluster administrators may write.

A transport may ask for Linux capabilities; the engine's namespace then has the strictest level that admits them. A
namespace that was there before (``serving.existing_namespace``) is left as it is, its level included.

Levels are pinned to the cluster's minor version, so that an upgrade changes no rules by itself.
Source: https://kubernetes.io/docs/concepts/security/pod-security-standards/
"""

from __future__ import annotations

from manifests.fabric_claims import capabilities
from manifests.naming import ENGINE, WEIGHTS, engine_namespace, labels, weights_namespace
from manifests.objects import Area, KubernetesObject
from manifests.pod_security import Level, level_admitting
from stacks.resolve import StackSpec
from stacks.versions import minor

__all__ = ["namespace", "namespaces"]

_LEVEL = "pod-security.kubernetes.io"


def namespaces(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """The engine's namespace, unless it is there already, and the seeding pods' (privileged)."""
    level = level_admitting(capabilities(spec))
    weights = namespace(spec, weights_namespace(spec), name="weights-namespace", component=WEIGHTS, level="privileged")
    if spec.preset.serving.existing_namespace:
        return (weights,)
    return (namespace(spec, engine_namespace(spec), name="engine-namespace", component=ENGINE, level=level), weights)


def namespace(
    spec: StackSpec, namespace: str, *, name: str, component: str, level: Level, area: Area = "weights"
) -> KubernetesObject:
    """A namespace that enforces a Pod Security level; ``name`` is the object's inside ``area``."""
    version = f"v{minor(spec.preset.cluster.version)}"
    return KubernetesObject(
        area=area,
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
