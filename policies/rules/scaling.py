"""Scalers act on what can be scaled, one for each workload, and look at what something exports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from beamline.engine.graph import Graph
from policies.objects import (
    PodTemplate,
    RegisteredObject,
    entries,
    key_or_port,
    matches,
    pod_templates,
    registered_objects,
    section,
)
from policies.rule import Finding, Rule

__all__ = ["RULES"]

_GROUP = "autoscaling.gke.io"
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


def _autoscalers(graph: Graph) -> Iterator[tuple[RegisteredObject, RegisteredObject | None]]:
    """Yield those that Kubernetes itself runs, each with its target."""
    there = _by_name(graph)
    return ((obj, there.get(target)) for obj, target in _scalers(graph) if obj.kind == "HorizontalPodAutoscaler")


def _by_name(graph: Graph) -> dict[tuple[str, str, str], RegisteredObject]:
    return {(obj.namespace, obj.kind, obj.name): obj for obj in registered_objects(graph)}


def _does_nothing(graph: Graph) -> Iterator[Finding]:
    there = _by_name(graph)
    for obj, (namespace, kind, name) in _scalers(graph):
        if kind not in _SCALABLE:
            detail, allowed = f"a {kind} cannot be scaled", ", ".join(_SCALABLE)
        elif (namespace, kind, name) not in there:
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


def _replicas_of_two(graph: Graph) -> Iterator[Finding]:
    for autoscaler, target in _autoscalers(graph):
        if target is not None and target.at("spec", "replicas") is not None:
            yield Finding(
                path=f"{target.path}.spec.replicas",
                urn=target.urn,
                value=target.at("spec", "replicas"),
                detail=f"{autoscaler.path} sets it, too",
            )


def _exported_by(graph: Graph, template: PodTemplate) -> set[str]:
    """Return the metrics of these pods by the names that autoscalers know them by."""
    return {
        f"{_GROUP}|{obj.name}|{section(metric.get('gauge')).get('name')}"
        for obj in registered_objects(graph)
        if obj.kind == "AutoscalingMetric" and obj.namespace == template.namespace
        for pod in _pods(obj)
        if matches(section(pod.get("selector")), template.labels)
        for container in entries(pod.get("containers"))
        if key_or_port(section(container.get("endpoint")).get("port")) in template.ports()
        for metric in entries(container.get("metrics"))
    }


def _pods(obj: RegisteredObject) -> list[Mapping[str, Any]]:
    return [section(metric.get("pod")) for metric in entries(obj.at("spec", "metrics"))]


def _nobody_exports(graph: Graph) -> Iterator[Finding]:
    for autoscaler, target in _autoscalers(graph):
        templates = [each for each in pod_templates(graph) if target is not None and each.owner.urn == target.urn]
        exported = {name for template in templates for name in _exported_by(graph, template)}
        for index, metric in enumerate(entries(autoscaler.at("spec", "metrics"))):
            name = str(section(section(metric.get("pods")).get("metric")).get("name"))
            if templates and metric.get("type") == "Pods" and name not in exported:
                yield Finding(
                    path=f"{autoscaler.path}.spec.metrics[{index}].pods.metric.name",
                    urn=autoscaler.urn,
                    value=name,
                    detail=f"no object of the stack has GKE read it from the pods of {templates[0].owner.path}",
                    allowed=", ".join(sorted(exported)),
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
    Rule(
        id="autoscaler-and-replicas",
        why="each update would take back what the autoscaler has set",
        remedy="leave replicas out",
        source="Kubernetes docs, horizontal pod autoscaling: migrating Deployments; pulumi/pulumi-kubernetes#2491",
        find=_replicas_of_two,
    ),
    Rule(
        id="autoscaler-metric",
        why="the metric would stay unknown and the replicas as they are",
        remedy="name a gauge of an AutoscalingMetric that selects these pods, and a port that they declare",
        source="GKE docs, expose custom metrics for autoscaling",
        find=_nobody_exports,
    ),
)
