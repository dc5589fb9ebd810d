"""Selectors find pods, and the ports behind them exist: APIs accept a typing error here, and nothing is served."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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

_OWN_SELECTOR = ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")
_ANY_NAMESPACE = ("ClusterPodMonitoring",)


@dataclass(frozen=True)
class _Selection:
    """One object's selector, and the ports it expects on the pods, each with its path."""

    owner: RegisteredObject
    selector: Mapping[str, Any]
    ports: Sequence[tuple[str, Any]]

    def pods(self, templates: Sequence[PodTemplate]) -> list[PodTemplate]:
        everywhere = self.owner.kind in _ANY_NAMESPACE
        return [
            template
            for template in templates
            if (everywhere or template.namespace == self.owner.namespace) and matches(self.selector, template.labels)
        ]


def _selection(obj: RegisteredObject) -> _Selection | None:
    """Return what ``obj`` selects; None for kinds that select no pods."""
    selector = section(obj.at("spec", "selector"))
    match obj.kind:
        case "Service":
            ports = [
                (f"{obj.path}.spec.ports[{index}]", port.get("targetPort", port.get("port")))
                for index, port in enumerate(entries(obj.at("spec", "ports")))
            ]
            return _Selection(obj, {"matchLabels": selector}, ports) if selector else None
        case "InferencePool":
            ports = [
                (f"{obj.path}.spec.targetPorts[{index}]", port.get("number"))
                for index, port in enumerate(entries(obj.at("spec", "targetPorts")))
            ]
            return _Selection(obj, selector, ports)
        case "PodMonitoring" | "ClusterPodMonitoring":
            ports = [
                (f"{obj.path}.spec.endpoints[{index}].port", endpoint.get("port"))
                for index, endpoint in enumerate(entries(obj.at("spec", "endpoints")))
            ]
            return _Selection(obj, selector, ports)
        case "PodDisruptionBudget":
            return _Selection(obj, selector, ())
    return None


def _selections(graph: Graph) -> list[_Selection]:
    return [found for obj in registered_objects(graph) if (found := _selection(obj)) is not None]


def _labels_of(templates: Sequence[PodTemplate], selection: _Selection) -> str:
    """The labels a selector could have meant."""
    near = [t for t in templates if t.namespace == selection.owner.namespace] or templates
    return "; ".join(
        f"{t.owner.path}: " + ", ".join(f"{key}={value}" for key, value in sorted(t.labels.items())) for t in near
    )


def _matches_nothing(graph: Graph) -> Iterator[Finding]:
    templates = pod_templates(graph)
    for selection in _selections(graph):
        if not selection.pods(templates):
            yield Finding(
                path=f"{selection.owner.path}.spec.selector",
                urn=selection.owner.urn,
                value=dict(selection.selector.get("matchLabels") or selection.selector),
                detail=f"no workload in namespace {selection.owner.namespace!r} has pods with these labels",
                allowed=_labels_of(templates, selection),
            )


def _port_not_declared(graph: Graph) -> Iterator[Finding]:
    templates = pod_templates(graph)
    for selection in _selections(graph):
        for template in selection.pods(templates):
            for path, port in selection.ports:
                if key_or_port(port) is not None and port not in template.ports():
                    yield Finding(
                        path=path,
                        urn=selection.owner.urn,
                        value=port,
                        detail=f"no container of {template.owner.path} declares this port",
                        allowed=", ".join(sorted(str(known) for known in template.ports())),
                    )


def _not_its_own_pods(graph: Graph) -> Iterator[Finding]:
    for template in pod_templates(graph):
        if template.owner.kind not in _OWN_SELECTOR:
            continue
        selector = section(template.owner.at("spec", "selector"))
        if not selector or not matches(selector, template.labels):
            yield Finding(
                path=f"{template.owner.path}.spec.selector",
                urn=template.owner.urn,
                value=selector,
                detail="the workload does not select the pods it makes",
                allowed=", ".join(f"{key}={value}" for key, value in sorted(template.labels.items())),
            )


RULES = (
    Rule(
        id="selector-matches-nothing",
        why="every API accepts it, and then nothing is reached, protected or measured",
        remedy="copy the labels of the pod template",
        source="Kubernetes docs, labels and selectors",
        find=_matches_nothing,
    ),
    Rule(
        id="port-not-declared",
        why="connections to it would be refused or never made",
        remedy="name a port that the pods declare",
        source="Kubernetes docs, Services; GKE docs, managed collection",
        find=_port_not_declared,
    ),
    Rule(
        id="workload-selector",
        why="the API server refuses it",
        remedy="make spec.selector.matchLabels a subset of the template's labels",
        source="Kubernetes docs, Deployments",
        find=_not_its_own_pods,
    ),
)
