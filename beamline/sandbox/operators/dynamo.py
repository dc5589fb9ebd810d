"""SIMULATED Dynamo operator, and Grove where the chart installs it: DynamoGraphDeployments become workloads.

Single-node components become Deployments, components that span nodes become groups of pods, as Grove makes them. Grove
is the default way to span nodes; without it such a component fails, as in a real cluster without Grove (the other way
needs LeaderWorkerSets and Volcano, which no sandbox has). Abbreviated: Grove's own objects (PodCliques and their
kin) do not exist, only the pods they would make; no gang scheduling, checkpoints, planners, ingresses or scaling
adapters; the admission webhook's rules lie in the kind's schema.

Until the operator's init container has run, the kind does not exist: this applies it in that container's place.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import yaml

from beamline.crds import installed_by_chart
from beamline.sandbox.operators.claims import PREPARED
from beamline.sandbox.operators.conditions import Condition, written
from beamline.sandbox.operators.dynamo_pods import WORKERS, Graph, graph_name, pod_template, service
from beamline.sandbox.operators.dynamo_ranks import groups, headless_service, mismatch, node_count
from beamline.sandbox.operators.pod_groups import Groups
from beamline.sandbox.operators.pods import going, is_ready, ready_deployment, why_waiting
from beamline.sandbox.operators.world import Manifest, World
from beamline.sandbox.operators.writing import Writer, controls, owner_of

__all__ = ["Dynamo"]

_CHART = "dynamo-platform"
_PROGRAM, _INIT, _GROVE = "--config=/etc/dynamo-operator/config.yaml", "crd-apply", "grove-operator"
_COMPONENT = "nvidia.com/dynamo-component"
_DEFINITION = "apiextensions.k8s.io/v1"


@dataclass
class _Part:
    """How far one component is."""

    status: dict[str, Any]
    ready: bool = False
    why: list[str] = field(default_factory=list)
    failed: str = ""
    """Why it cannot come, where waiting does not help."""
    reason: str = "failed_to_reconcile_the_resources"


@dataclass
class Dynamo:
    """The operator of one cluster."""

    world: World
    writer: Writer
    _groups: Groups = field(init=False)

    def __post_init__(self) -> None:
        self._groups = Groups(self.writer)

    def run_once(self) -> float | None:
        """Bring every graph's workloads and status up to date, as long as the operator is installed and ready."""
        for pod in self.world.of_kind("Pod"):
            if _applies_definitions(pod):
                self._define()
                self.writer.merge(pod, {"metadata": {"annotations": {PREPARED: "true"}}})
        operator = ready_deployment(self.world, _PROGRAM)
        if operator is None:
            return None
        graphs = [found for found in self.world.of_kind("DynamoGraphDeployment") if not going(found)]
        settings = self._settings(operator) if graphs else {}
        for found in graphs:
            self._reconcile(Graph(found, settings["discovery"]["backend"]), settings)
        return None

    def _define(self) -> None:
        kind = self.writer.api.kind(_DEFINITION, "CustomResourceDefinition")
        for definition in installed_by_chart(_CHART):
            self.writer.api.apply(kind, definition.manifest)

    def _settings(self, operator: Manifest) -> dict[str, Any]:
        """Return what the chart tells its operator, from the ConfigMap that the operator mounts."""
        (name,) = (
            volume["configMap"]["name"]
            for volume in operator["spec"]["template"]["spec"]["volumes"]
            if "configMap" in volume
        )
        found = self.writer.api.get(f"/api/v1/namespaces/{operator['metadata']['namespace']}/configmaps/{name}") or {}
        settings: dict[str, Any] = yaml.safe_load(found["data"]["config.yaml"])
        return settings

    def _reconcile(self, graph: Graph, settings: dict[str, Any]) -> None:
        annotations = graph.manifest["metadata"].get("annotations") or {}
        wants = annotations.get("nvidia.com/enable-grove", "true") != "false"
        grove = wants and settings["orchestrators"]["grove"]["enabled"] and self._grove_works()
        wanted = list(self._surroundings(graph, grove=grove))
        parts = {component["name"]: self._component(graph, component, grove, wanted) for component in _by_name(graph)}
        names = {(manifest["kind"], manifest["metadata"]["name"]) for manifest in wanted}
        for present in self.world.of_kind("Deployment", "Service", "ServiceAccount"):
            if controls(graph.manifest, present) and (present["kind"], present["metadata"]["name"]) not in names:
                self.writer.delete(present)
        spanning = {component["name"] for component in graph.spec["components"] if node_count(component) > 1}
        for pod in self.world.of_kind("Pod"):
            if controls(graph.manifest, pod) and pod["metadata"]["labels"][_COMPONENT] not in spanning:
                self.writer.delete(pod)
        self.writer.status(graph.manifest, _status(graph, parts))

    def _grove_works(self) -> bool:
        return ready_deployment(self.world, _GROVE) is not None

    def _surroundings(self, graph: Graph, *, grove: bool) -> Iterator[dict[str, Any]]:
        """Yield and make what a graph has besides its components. Its role and binding are left out: nothing runs."""
        account = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": f"{graph.name}-k8s-service-discovery", "namespace": graph.namespace},
        }
        around = [account, *([headless_service(graph)] if grove else [])]
        for manifest in [*around, *(service(graph, component) for component in graph.spec["components"])]:
            manifest["metadata"]["ownerReferences"] = [owner_of(graph.manifest)]
            self.writer.ensure(manifest)
            yield manifest

    def _component(self, graph: Graph, component: Manifest, grove: bool, wanted: list[dict[str, Any]]) -> _Part:
        replicas = component.get("replicas", 1)
        kind = "PodClique" if grove else "Deployment"
        if node_count(component) > 1 and not grove:
            why = "spans nodes, and neither Grove nor LeaderWorkerSets with Volcano are there to start it"
            return _Part(_counts("Deployment", []), failed=why, reason="no_multinode_orchestrator_available")
        if component.get("type") in WORKERS and (why := mismatch(component)):
            return _Part(_counts(kind, [], replicas=replicas), failed=why)
        if node_count(component) > 1:
            return self._spanning(graph, component, replicas)
        name = f"{graph_name(graph)}-0-{component['name'].lower()}" if grove else graph.resource_name(component)
        deployment = _deployment(graph, component, name, replicas, grove=grove)
        wanted.append(deployment)
        refused = self.writer.ensure(deployment)
        return self._single(graph, component, self.world.find("Deployment", graph.namespace, name), kind, refused)

    def _single(self, graph: Graph, component: Manifest, deployment: Manifest | None, kind: str, refused: str) -> _Part:
        replicas, status = component.get("replicas", 1), (deployment or {}).get("status") or {}
        metadata = (deployment or {}).get("metadata") or {}
        fresh = status.get("observedGeneration", 0) >= metadata.get("generation", 1)
        counts = {key: status.get(f"{key}Replicas", 0) for key in ("updated", "ready", "available")}
        done = fresh and all(count == replicas for count in counts.values()) and status.get("replicas", 0) == replicas
        failure = next(
            (entry["message"] for entry in status.get("conditions") or [] if entry["type"] == "ReplicaFailure"), ""
        )
        pods = list(self._pods(graph, component))
        why = list(filter(None, [refused, failure, *map(why_waiting, pods)]))
        names = [metadata["name"]] if metadata else []
        part = _counts(kind, names, replicas=status.get("replicas", 0), updated=counts["updated"])
        part["readyReplicas"] = counts["ready"]
        part["availableReplicas" if kind == "Deployment" else "scheduledReplicas"] = (
            counts["available"] if kind == "Deployment" else sum("nodeName" in pod["spec"] for pod in pods)
        )
        return _Part(part, done, why)

    def _spanning(self, graph: Graph, component: Manifest, replicas: int) -> _Part:
        pods = [pod for pod in self._pods(graph, component) if controls(graph.manifest, pod)]
        progress = self._groups.reconcile(groups(graph, component, replicas), pods, together=True)
        for refusal in progress.refused:
            self.writer.warn(graph.manifest, "FailedCreate", refusal, "grove")
        name = f"{graph_name(graph)}-0-{component['name'].lower()}"
        part = _counts("PodCliqueScalingGroup", [name], replicas=replicas, updated=progress.updated)
        part |= {"readyReplicas": progress.ready, "availableReplicas": progress.ready}
        why = list(filter(None, [*progress.refused, *map(why_waiting, pods)]))
        return _Part(part, progress.ready == progress.updated == replicas, why)

    def _pods(self, graph: Graph, component: Manifest) -> Iterator[Manifest]:
        for pod in self.world.of_kind("Pod"):
            labels = pod["metadata"].get("labels") or {}
            mine = labels.get("nvidia.com/selector") == graph.resource_name(component)
            if mine and pod["metadata"]["namespace"] == graph.namespace:
                yield pod


def _by_name(graph: Graph) -> list[Manifest]:
    components: list[Manifest] = sorted(graph.spec["components"], key=lambda entry: str(entry["name"]))
    return components


def _applies_definitions(pod: Manifest) -> bool:
    """Tell whether a pod is the operator's and its init container is due."""
    waits = PREPARED not in (pod["metadata"].get("annotations") or {}) and not going(pod) and not is_ready(pod)
    return (
        waits
        and "nodeName" in pod["spec"]
        and any(entry["name"] == _INIT for entry in pod["spec"].get("initContainers") or [])
    )


def _counts(kind: str, names: list[str], *, replicas: int = 0, updated: int = 0) -> dict[str, Any]:
    return {"componentKind": kind, "componentNames": names, "replicas": replicas, "updatedReplicas": updated}


def _deployment(graph: Graph, component: Manifest, name: str, replicas: int, *, grove: bool) -> dict[str, Any]:
    """Return the workload of a component on single nodes; a PodClique has no surge."""
    template = pod_template(graph, component)
    selector = {"nvidia.com/selector": graph.resource_name(component)}
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "namespace": graph.namespace,
            "labels": template["metadata"]["labels"],
            "ownerReferences": [owner_of(graph.manifest)],
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": selector},
            "template": template,
            **({"strategy": strategy} if grove else {}),
        },
    }


def _status(graph: Graph, parts: dict[str, _Part]) -> dict[str, Any]:
    failed = {name: part for name, part in parts.items() if part.failed}
    waiting = {name: part for name, part in parts.items() if not part.ready}
    state = "failed" if failed else "pending" if waiting else "successful"
    if failed:
        reason = next(iter(failed.values())).reason
        message = "; ".join(f"{name}: {part.failed}" for name, part in failed.items())
    elif waiting:
        blocked = any("cannot be scheduled" in why for part in waiting.values() for why in part.why)
        reason = "insufficient_capacity" if blocked else "pods_not_ready"
        message = "; ".join(
            f"{name}: {', '.join(dict.fromkeys(part.why)) or 'its pods are being made'}"
            for name, part in waiting.items()
        )
    else:
        reason, message = "all_resources_are_ready", "All resources are ready"
    generation = int(graph.manifest["metadata"].get("generation", 0))
    before = (graph.manifest.get("status") or {}).get("conditions") or []
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    ready = Condition("Ready", status=state == "successful", reason=reason, message=message[:4000])
    gone = ((graph.manifest.get("status") or {}).get("components") or {}).keys() - parts.keys()
    return {
        "state": state,
        "observedGeneration": generation,
        "conditions": written([ready], before, generation, now),
        "components": {**{name: part.status for name, part in parts.items()}, **dict.fromkeys(gone)},
    }
