"""Scalers of any kind: they scale what can be scaled, and nobody scales beside them."""

from __future__ import annotations

from collections.abc import Iterator

from beamline.engine.graph import Graph
from policies.objects import RegisteredObject, registered_objects, section
from policies.rule import Finding, Rule

__all__ = ["RULES"]

_SCALERS = ("HorizontalPodAutoscaler", "ScaledObject")
_SCALABLE = ("Deployment", "StatefulSet", "ReplicaSet", "LeaderWorkerSet", "DynamoGraphDeploymentScalingAdapter")
"""Kinds whose objects have the subresource that a scaler writes to; a graph of Dynamo has it by its adapter."""


def _scalers(graph: Graph) -> Iterator[tuple[RegisteredObject, tuple[str, str, str]]]:
    """Yield every scaler, and what names its target: namespace, kind and name."""
    for obj in registered_objects(graph):
        if obj.kind in _SCALERS:
            target = section(obj.at("spec", "scaleTargetRef"))
            kind = str(target.get("kind", "Deployment"))  # KEDA's default; the other has to say
            yield obj, (obj.namespace, kind, str(target.get("name")))


def _does_nothing(graph: Graph) -> Iterator[Finding]:
    there = {(obj.namespace, obj.kind, obj.name) for obj in registered_objects(graph)}
    for obj, (namespace, kind, name) in _scalers(graph):
        if kind not in _SCALABLE:
            detail, allowed = f"a {kind} cannot be scaled", ", ".join(_SCALABLE)
        elif obj.kind != "HorizontalPodAutoscaler" and (namespace, kind, name) not in there:
            known = sorted(f"{k} {n}" for s, k, n in there if s == namespace and k in _SCALABLE)
            detail, allowed = f"there is no {kind} {name!r} in namespace {namespace!r}", ", ".join(known)
        else:
            continue
        yield Finding(
            path=f"{obj.path}.spec.scaleTargetRef", urn=obj.urn, value=f"{kind}/{name}", detail=detail, allowed=allowed
        )


def _scaled_twice(graph: Graph) -> Iterator[Finding]:
    first: dict[tuple[str, str, str], RegisteredObject] = {}
    for obj, target in _scalers(graph):
        other = first.setdefault(target, obj)
        if other is not obj:
            yield Finding(
                path=f"{obj.path}.spec.scaleTargetRef",
                urn=obj.urn,
                value="/".join(target[1:]),
                detail=f"{other.path} scales it, too",
                allowed="one scaler for each workload",
            )


def _mixed(graph: Graph) -> Iterator[Finding]:
    """Roles of one stack are in one namespace, and depend on each other's number."""
    first: dict[str, RegisteredObject] = {}
    for obj, (namespace, _, name) in _scalers(graph):
        other = first.setdefault(namespace, obj)
        if other.kind != obj.kind:
            yield Finding(
                path=obj.path,
                urn=obj.urn,
                value=obj.kind,
                detail=f"{other.path} is in the same namespace, and {name} is scaled by another kind",
                allowed=other.kind,
            )


RULES = (
    Rule(
        id="scaler-does-nothing",
        why="the object is accepted, and the number of replicas never changes",
        remedy="name a workload that is there and can be scaled",
        source="kserve/kserve#5211; Kubernetes docs, horizontal pod autoscaling: the scale subresource",
        find=_does_nothing,
    ),
    Rule(
        id="scaled-twice",
        why="two scalers take turns in undoing what the other did",
        remedy="remove one of them",
        source="KEDA docs, scaling deployments: do not combine with another autoscaler",
        find=_scaled_twice,
    ),
    Rule(
        id="scalers-differ",
        why="prefill and decode would follow two clocks and two ideas of load",
        remedy="scale all workloads of a stack by one mechanism",
        source="kserve/kserve#5211",
        find=_mixed,
    ),
)
