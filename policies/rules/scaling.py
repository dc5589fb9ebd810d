"""Autoscalers act on something, and look at what something exports: one that does not exists and does nothing."""

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


def _autoscalers(graph: Graph) -> list[RegisteredObject]:
    return [obj for obj in registered_objects(graph) if obj.kind == "HorizontalPodAutoscaler"]


def _target(graph: Graph, autoscaler: RegisteredObject) -> RegisteredObject | None:
    wanted = section(autoscaler.at("spec", "scaleTargetRef"))
    for obj in registered_objects(graph):
        if (obj.kind, obj.name, obj.namespace) == (wanted.get("kind"), wanted.get("name"), autoscaler.namespace):
            return obj
    return None


def _acts_on_nothing(graph: Graph) -> Iterator[Finding]:
    for autoscaler in _autoscalers(graph):
        if _target(graph, autoscaler) is None:
            wanted = section(autoscaler.at("spec", "scaleTargetRef"))
            yield Finding(
                path=f"{autoscaler.path}.spec.scaleTargetRef",
                urn=autoscaler.urn,
                value=f"{wanted.get('kind')}/{wanted.get('name')}",
                detail=f"there is no such object in namespace {autoscaler.namespace!r}",
            )


def _replicas_of_two(graph: Graph) -> Iterator[Finding]:
    for autoscaler in _autoscalers(graph):
        target = _target(graph, autoscaler)
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
    for autoscaler in _autoscalers(graph):
        target = _target(graph, autoscaler)
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
        id="autoscaler-target",
        why="the autoscaler would do nothing",
        remedy="name a workload of the stack",
        source="Kubernetes API, HorizontalPodAutoscaler; kserve/kserve#5211",
        find=_acts_on_nothing,
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
