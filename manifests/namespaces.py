"""Namespaces of the stack's own, each with the strictest Pod Security level that its pods allow.

The engine's and the seeding pods' are apart, so that only pods that must write to the node may. Seeding writes a folder
of the node's own filesystem, which takes a ``hostPath`` volume, and Pod Security admits those only at the level
``privileged``. The level holds for a whole namespace: with one namespace, whoever may create pods beside the engine
could mount the node's root. So seeding has a namespace of its own, in which nothing else runs, and the engine reads the
same folder through a PersistentVolume of type ``local`` (see ``manifests.weight_volume``), which the level
``restricted`` admits: its path is fixed by an object that only cluster administrators may write. Where weights are
mounted from a bucket or a disk, and local SSD is ephemeral, nothing writes to nodes: there is no such namespace then.

A transport may ask for Linux capabilities; the engine's namespace then has the strictest level that admits them. A
namespace that was there before (``serving.existing_namespace``) is left as it is, its level included. Third parties'
operators have one each; what makes a level laxer than ``restricted`` is in ``manifests.exceptions``.

Levels are pinned to the cluster's minor version, so that an upgrade changes no rules by itself.
Source: https://kubernetes.io/docs/concepts/security/pod-security-standards/
"""

from __future__ import annotations

from dataclasses import dataclass

from manifests.exceptions import level_for
from manifests.fabric_claims import capabilities
from manifests.local_ssd import is_raw_block
from manifests.naming import ENGINE, WEIGHTS, engine_namespace, labels, weights_namespace
from manifests.objects import Area, KubernetesObject
from manifests.pod_security import Level, level_admitting
from manifests.weight_sets import is_seeded
from stacks.resolve import StackSpec
from stacks.versions import minor

__all__ = ["DRA_DRIVER", "DYNAMO", "LEADER_WORKER_SET", "OwnNamespace", "namespaces", "own_namespaces"]

DRA_DRIVER = "dra-driver"
LEADER_WORKER_SET = "leader-worker-set"
DYNAMO = "dynamo"

_LEVEL = "pod-security.kubernetes.io"


@dataclass(frozen=True)
class OwnNamespace:
    """A namespace the stack makes: its name, what it is called among the objects of its area, and its level."""

    name: str
    object_name: str
    component: str
    area: Area
    level: Level


_OF_CHARTS: dict[str, tuple[str, str, Area]] = {
    "dra_driver": ("dra-driver-namespace", DRA_DRIVER, "fabric"),
    "leader_worker_set": ("lws-namespace", LEADER_WORKER_SET, "serving"),
    "dynamo": ("dynamo-namespace", DYNAMO, "serving"),
}
"""What a chart brings -> object's name, component and area of its namespace."""


def own_namespaces(spec: StackSpec) -> tuple[OwnNamespace, ...]:
    """Return the engine's, unless it is there already, that of pods which write to nodes, and one for each operator."""
    engine = OwnNamespace(
        engine_namespace(spec), "engine-namespace", ENGINE, "weights", level_admitting(capabilities(spec))
    )
    weights = OwnNamespace(weights_namespace(spec), "weights-namespace", WEIGHTS, "weights", level_for(["seeding"]))
    writes = is_seeded(spec) or is_raw_block(spec)
    return (
        *(() if spec.preset.serving.existing_namespace else (engine,)),
        *((weights,) if writes else ()),
        *(_of_chart(role, chart.namespace) for role, chart in spec.charts.items()),
    )


def _of_chart(role: str, name: str) -> OwnNamespace:
    object_name, component, area = _OF_CHARTS[role]
    return OwnNamespace(name, object_name, component, area, level_for([component]))


def namespaces(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """The namespaces, each enforcing its level."""
    version = f"v{minor(spec.preset.cluster.version)}"
    return tuple(
        KubernetesObject(
            area=home.area,
            name=home.object_name,
            body={
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {
                    "name": home.name,
                    "labels": {
                        **labels(spec, home.component),
                        f"{_LEVEL}/enforce": home.level,
                        f"{_LEVEL}/enforce-version": version,
                    },
                },
            },
        )
        for home in own_namespaces(spec)
    )
