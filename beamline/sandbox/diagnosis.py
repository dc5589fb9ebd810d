"""Why the cluster is not what was declared, in Kubernetes' own words.

The scheduler, the admission plugins and the controllers have already said what is wrong, in conditions and events of
objects that few people think of reading. This collects them as problems, one for each workload and cause.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from beamline.sandbox.kubernetes_api import KubernetesApi, Object
from stacks.problems import Problem, ordered

__all__ = ["SELECTS_NOTHING", "WITHOUT_ENDPOINTS", "diagnose"]

SELECTS_NOTHING = "service-selects-nothing"
"""Rule of a Service that can never have an endpoint; no time-out of the engine finds it."""

WITHOUT_ENDPOINTS = "service-without-endpoints"
"""Rule of a Service whose pods exist and are not ready."""

_STARTING = {"ContainerCreating", "PodInitializing"}
_EVENTS = "events of the object"
_HELD = {
    "FailedPrepareDynamicResources": (
        "claims-not-prepared",
        "see whether the claim's driver runs on the pod's node, and what it waits for",
    ),
    "FailedMount": ("volume-not-mounted", "switch the driver's add-on on in the cluster, or use another volume"),
}
"""Reason of a kubelet's event -> rule, and what to do. The pod waits until that is over."""
_GRAPHS = "/apis/nvidia.com/v1beta1/dynamographdeployments"


@dataclass(frozen=True)
class _Finding:
    """One cause found on one pod, before the pods of a workload are put together."""

    rule: str
    owner: str
    why: str
    remedy: str
    source: str


def diagnose(api: KubernetesApi) -> list[Problem]:
    """Return what keeps workloads and Services from working; empty when everything is ready."""
    pods = [pod for pod in api.items("/api/v1/pods") if not _finished(pod)]
    found = [*_pods(api, pods), *_short_workloads(api), *_failed_graphs(api), *_services(api, pods)]
    return ordered(found)


def _finished(pod: Object) -> bool:
    return pod["status"].get("phase") == "Succeeded" or "deletionTimestamp" in pod["metadata"]


def _pods(api: KubernetesApi, pods: list[Object]) -> Iterator[Problem]:
    owners, held = _deployments_of_replica_sets(api), _held(api)
    together: dict[_Finding, list[str]] = {}
    for pod in pods:
        finding = _why_not_ready(pod, _owner(pod, owners), held.get(pod["metadata"]["uid"]))
        if finding is not None:
            together.setdefault(finding, []).append(pod["metadata"]["name"])
    for finding, names in together.items():
        yield Problem(
            rule=finding.rule,
            path=finding.owner,
            value=", ".join(sorted(names)),
            why=finding.why,
            remedy=finding.remedy,
            source=finding.source,
        )


def _held(api: KubernetesApi) -> dict[str, tuple[str, str]]:
    """Return why kubelets hold pods, as the event's reason and message, by the pod's uid."""
    events = [
        event
        for reason in _HELD
        for event in api.items("/api/v1/events", fieldSelector=f"reason={reason}")
        if event.get("reason") == reason
    ]
    events.sort(key=lambda event: str(event.get("lastTimestamp")))
    return {event["involvedObject"]["uid"]: (event["reason"], event["message"]) for event in events}


def _why_not_ready(pod: Object, owner: str, held: tuple[str, str] | None) -> _Finding | None:
    conditions = {c["type"]: c for c in pod["status"].get("conditions", [])}
    if conditions.get("Ready", {}).get("status") == "True":
        return None
    scheduled = conditions.get("PodScheduled", {})
    if scheduled.get("status") == "False":
        remedy = (
            "give the pod what the message asks for: tolerations, node selector, smaller requests, or a larger pool"
        )
        return _Finding("pod-unschedulable", owner, scheduled.get("message", "not scheduled"), remedy, "kube-scheduler")
    if held and _is_held(pod):
        reason, why = held
        rule, remedy = _HELD[reason]
        return _Finding(rule, owner, why, remedy, "kubelet (simulated)")
    for status in _container_statuses(pod):
        state = status.get("state", {})
        waiting, terminated = state.get("waiting"), state.get("terminated")
        if waiting and waiting.get("reason") not in _STARTING:
            why = f"container {status['name']}: {waiting['reason']}: {waiting.get('message', '')}".rstrip(": ")
            remedy = f"`kubectl describe pod {pod['metadata']['name']}` shows the container's events"
            return _Finding("container-waiting", owner, why, remedy, "kubelet (simulated)")
        if terminated and terminated.get("exitCode"):
            why = f"container {status['name']} ended with exit code {terminated['exitCode']}"
            return _Finding("container-ended", owner, why, "read the container's log", "kubelet (simulated)")
    why = conditions.get("Ready", {}).get("message") or f"the pod is {pod['status'].get('phase', 'Pending')}"
    remedy = "wait, or make the startup probe's budget match what the container has to load"
    return _Finding("pod-not-ready", owner, why, remedy, "kubelet (simulated)")


def _is_held(pod: Object) -> bool:
    states = [status.get("state", {}).get("waiting") or {} for status in _container_statuses(pod)]
    return all(state.get("reason") in _STARTING for state in states)


def _container_statuses(pod: Object) -> Iterator[Object]:
    yield from pod["status"].get("initContainerStatuses", [])
    yield from pod["status"].get("containerStatuses", [])


def _deployments_of_replica_sets(api: KubernetesApi) -> dict[tuple[str, str], str]:
    """Map (namespace, ReplicaSet) to the Deployment that made it."""
    found = {}
    for replica_set in api.items("/apis/apps/v1/replicasets"):
        metadata = replica_set["metadata"]
        for owner in metadata.get("ownerReferences", []):
            found[metadata["namespace"], metadata["name"]] = str(owner["name"])
    return found


def _owner(pod: Object, deployments: dict[tuple[str, str], str]) -> str:
    metadata = pod["metadata"]
    namespace = metadata["namespace"]
    for owner in metadata.get("ownerReferences", []):
        deployment = deployments.get((namespace, owner["name"])) if owner["kind"] == "ReplicaSet" else None
        return f"Deployment {namespace}/{deployment}" if deployment else f"{owner['kind']} {namespace}/{owner['name']}"
    return f"Pod {namespace}/{metadata['name']}"


def _short_workloads(api: KubernetesApi) -> Iterator[Problem]:
    """Yield workloads whose pods were refused: by quota, Pod Security, a webhook or validation."""
    for deployment in api.items("/apis/apps/v1/deployments"):
        for condition in deployment["status"].get("conditions", []):
            if condition["type"] == "ReplicaFailure" and condition["status"] == "True":
                yield _refused("Deployment", deployment, condition["message"], "condition ReplicaFailure")
    refused = {event["involvedObject"].get("uid"): event for event in _failed_creates(api)}
    for kind, path, short in (
        ("DaemonSet", "/apis/apps/v1/daemonsets", _short_daemon_set),
        ("StatefulSet", "/apis/apps/v1/statefulsets", _short_stateful_set),
        ("Job", "/apis/batch/v1/jobs", _short_job),
        ("LeaderWorkerSet", "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets", _short_set),
        ("DynamoGraphDeployment", _GRAPHS, _short_graph),
    ):
        for workload in api.items(path):
            event = refused.get(workload["metadata"]["uid"])
            if event is not None and short(workload):
                yield _refused(kind, workload, event["message"], _EVENTS)


def _failed_creates(api: KubernetesApi) -> Iterable[Object]:
    events = api.items("/api/v1/events", fieldSelector="reason=FailedCreate")
    return sorted(events, key=lambda event: str(event.get("lastTimestamp") or event.get("eventTime") or ""))


def _short_daemon_set(workload: Object) -> bool:
    status = workload["status"]
    return bool(status.get("currentNumberScheduled", 0) < status.get("desiredNumberScheduled", 0))


def _short_stateful_set(workload: Object) -> bool:
    return bool(workload["status"].get("replicas", 0) < workload["spec"].get("replicas", 1))


def _short_job(workload: Object) -> bool:
    status = workload["status"]
    return not any(status.get(key) for key in ("active", "succeeded", "failed"))


def _short_set(workload: Object) -> bool:
    return bool(workload["status"].get("readyReplicas", 0) < workload["spec"].get("replicas", 1))


def _short_graph(workload: Object) -> bool:
    return bool(workload["status"].get("state") != "successful")


def _failed_graphs(api: KubernetesApi) -> Iterator[Problem]:
    """Yield Dynamo graphs whose operator has given up: there may be no pod to ask."""
    for graph in api.items(_GRAPHS):
        conditions = {condition["type"]: condition for condition in graph["status"].get("conditions", [])}
        if graph["status"].get("state") == "failed":
            yield Problem(
                rule="graph-failed",
                path=f"DynamoGraphDeployment {graph['metadata']['namespace']}/{graph['metadata']['name']}",
                value=conditions["Ready"]["reason"],
                why=conditions["Ready"]["message"],
                remedy="change the component that the message names",
                source="condition Ready",
            )


def _refused(kind: str, workload: Object, message: str, source: str) -> Problem:
    metadata = workload["metadata"]
    return Problem(
        rule="pods-refused",
        path=f"{kind} {metadata['namespace']}/{metadata['name']}",
        why=message,
        remedy="change the pod template or the namespace's quota, Pod Security level or policies",
        source=source,
    )


def _services(api: KubernetesApi, pods: list[Object]) -> Iterator[Problem]:
    """Yield Services that lead nowhere."""
    ready = {
        (piece["metadata"]["namespace"], piece["metadata"].get("labels", {}).get("kubernetes.io/service-name"))
        for piece in api.items("/apis/discovery.k8s.io/v1/endpointslices")
        if any(endpoint.get("conditions", {}).get("ready", True) for endpoint in piece.get("endpoints") or [])
    }
    labelled = [*(_labels(pod) for pod in pods), *_templates(api)]
    for service in api.items("/api/v1/services"):
        metadata, selector = service["metadata"], service["spec"].get("selector")
        if not selector or (metadata["namespace"], metadata["name"]) in ready:
            continue
        here = [labels for namespace, labels in labelled if namespace == metadata["namespace"]]
        yield _leads_nowhere(metadata, selector, here)


def _leads_nowhere(metadata: Object, selector: dict[str, str], here: list[dict[str, str]]) -> Problem:
    matched = any(selector.items() <= labels.items() for labels in here)
    there = {f"{key}={labels[key]}" for labels in here for key in selector if key in labels}
    return Problem(
        rule=WITHOUT_ENDPOINTS if matched else SELECTS_NOTHING,
        path=f"Service {metadata['namespace']}/{metadata['name']}",
        value=",".join(f"{key}={value}" for key, value in sorted(selector.items())),
        why="its EndpointSlices list no ready endpoint: "
        + ("no pod that the selector matches is ready" if matched else "the selector matches no pod in the namespace"),
        allowed="" if matched else ", ".join(sorted(there)),
        remedy="see what keeps these pods from being ready" if matched else "use labels that the pod template sets",
        source="EndpointSlice controller",
    )


def _templates(api: KubernetesApi) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the labels that workloads give their pods, for those scaled to none."""
    for kind in ("deployments", "statefulsets", "daemonsets"):
        for workload in api.items(f"/apis/apps/v1/{kind}"):
            yield workload["metadata"]["namespace"], workload["spec"]["template"]["metadata"].get("labels") or {}


def _labels(pod: Object) -> tuple[str, dict[str, str]]:
    return pod["metadata"]["namespace"], pod["metadata"].get("labels") or {}
