"""What Dynamo's operator makes of one component: the pod template with its defaults, and the objects around it.

Names, labels, environment, probes and ports are those of Dynamo 1.6 and 1.7 (ai-dynamo/dynamo deploy/operator at
2a6da14c; the telemetry default from the 1.6 documentation). A setting of the component's own stands.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from beamline.sandbox.operators.world import Manifest

__all__ = ["WORKERS", "Graph", "component_labels", "graph_name", "groves_labels", "pod_template", "service"]

WORKERS = {"worker", "prefill", "decode"}

_PREFIX = "nvidia.com"
_HTTP_PORT, _SYSTEM_PORT, _NIXL_PORT = 8000, 9090, 19090
_SHARED_MEMORY = "shared-memory"
_LONGEST_NAME = 45
"""What Grove allows for the names of set, scaling group and clique together."""
_FIRST_LENIENT = (1, 5, 0)
"""Runtime version from which a worker may miss liveness checks before it is restarted."""


@dataclass(frozen=True)
class Graph:
    """What the components of a DynamoGraphDeployment have in common."""

    manifest: Manifest
    discovery: str = "kubernetes"

    @property
    def name(self) -> str:
        """Return the deployment's name."""
        return str(self.manifest["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """Return its Kubernetes namespace."""
        return str(self.manifest["metadata"]["namespace"])

    @property
    def spec(self) -> Manifest:
        """Return its spec."""
        found: Manifest = self.manifest["spec"]
        return found

    def dynamo_namespace(self, component: Manifest) -> str:
        """Return the namespace that frontends and workers find each other in."""
        return "dynamo" if component.get("globalDynamoNamespace") else f"{self.namespace}-{self.name}"

    def resource_name(self, component: Manifest) -> str:
        """Return the name of a component's Service, and the value of its selector label."""
        return f"{self.name}-{component['name'].lower()}"


def graph_name(graph: Graph) -> str:
    """Return the name of the PodCliqueSet: the deployment's, shortened where Grove would refuse the whole."""
    longest = max(
        2 * len(entry["name"]) + len("-ldr") if "multinode" in entry else len(entry["name"])
        for entry in graph.spec["components"]
    )
    room = max(_LONGEST_NAME - longest, 8)
    if len(graph.name) <= room:
        return graph.name
    mark = 0x811C9DC5  # FNV-1a, as the operator shortens
    for byte in graph.name.encode():
        mark = (mark ^ byte) * 0x01000193 & 0xFFFFFFFF
    return f"{graph.name[: room - 5]}-{mark & 0xFFFF:04x}"


def groves_labels(graph: Graph, component: Manifest) -> dict[str, str]:
    """Return what Grove writes over its pods' labels, whatever the user has there (ai-dynamo/grove, api/common)."""
    return {
        "app.kubernetes.io/name": graph.resource_name(component),
        "app.kubernetes.io/managed-by": "grove-operator",
        "app.kubernetes.io/part-of": graph_name(graph),
        "app.kubernetes.io/component": "pcs-podclique",
    }


def component_labels(graph: Graph, component: Manifest) -> dict[str, str]:
    """Return the labels by which a component's pods are found; the user's cannot replace them."""
    user = {
        **(graph.spec.get("labels") or {}),
        **((component["podTemplate"].get("metadata") or {}).get("labels") or {}),
    }
    metrics = (graph.manifest["metadata"].get("annotations") or {}).get(f"{_PREFIX}/enable-metrics") != "false"
    labels = {f"{_PREFIX}/metrics-enabled": "true"} if metrics else {}
    own = {
        f"{_PREFIX}/selector": graph.resource_name(component),
        f"{_PREFIX}/dynamo-graph-deployment-name": graph.name,
        f"{_PREFIX}/dynamo-component": component["name"],
        f"{_PREFIX}/dynamo-namespace": graph.dynamo_namespace(component),
    }
    if "type" in component:
        own[f"{_PREFIX}/dynamo-component-type"] = component["type"]
    own |= groves_labels(graph, component)
    if graph.discovery == "kubernetes":
        own |= {f"{_PREFIX}/dynamo-discovery-backend": "kubernetes", f"{_PREFIX}/dynamo-discovery-enabled": "true"}
    return {**labels, **user, **own}


def pod_template(graph: Graph, component: Manifest) -> dict[str, Any]:
    """Return the template of a component's pods: the user's, with what the operator adds."""
    user = component["podTemplate"]
    main, *others = sorted(user["spec"]["containers"], key=lambda entry: bool(entry["name"] != "main"))
    annotations = {
        **(graph.spec.get("annotations") or {}),
        **((user.get("metadata") or {}).get("annotations") or {}),
    }
    spec = {
        "terminationGracePeriodSeconds": 60,
        "restartPolicy": "Always",
        "securityContext": {"fsGroup": 1000},
        "serviceAccountName": f"{graph.name}-k8s-service-discovery",
        **user["spec"],
        "containers": [_main(graph, component, main), *others],
    }
    if "priorityClassName" in graph.spec:
        spec.setdefault("priorityClassName", graph.spec["priorityClassName"])
    _share_memory(spec, str(component.get("sharedMemorySize", "8Gi")))
    return {"metadata": {"labels": component_labels(graph, component), "annotations": annotations}, "spec": spec}


def service(graph: Graph, component: Manifest) -> dict[str, Any]:
    """Return the Service of a component."""
    frontend = component.get("type") == "frontend"
    port = {"name": "http", "port": _HTTP_PORT} if frontend else {"name": "system", "port": _SYSTEM_PORT}
    selector = {
        f"{_PREFIX}/dynamo-component": component["name"],
        f"{_PREFIX}/dynamo-namespace": graph.dynamo_namespace(component),
    }
    if "type" in component:
        selector[f"{_PREFIX}/dynamo-component-type"] = component["type"]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": graph.resource_name(component),
            "namespace": graph.namespace,
            "labels": component_labels(graph, component),
        },
        "spec": {"selector": selector, "ports": [{**port, "targetPort": port["name"], "protocol": "TCP"}]},
    }


def _main(graph: Graph, component: Manifest, own: Manifest) -> dict[str, Any]:
    defaults = _frontend() if component.get("type") == "frontend" else {}
    if component.get("type") in WORKERS:
        defaults = _worker(1 if _version(component, own) < _FIRST_LENIENT else 3)
    merged = {**defaults, **own}
    merged["env"] = _environment(graph, component, own)
    if "args" in merged and "command" not in merged:
        merged["command"] = ["/bin/sh", "-c"]
    return merged


def _environment(graph: Graph, component: Manifest, own: Manifest) -> list[dict[str, Any]]:
    """Return the variables: the operator's, replaced by the graph's, replaced by the container's own."""
    namespace = graph.dynamo_namespace(component)
    values = {
        "DYN_NAMESPACE": namespace,
        "DYN_COMPONENT": component.get("type", "default"),
        "DYN_PARENT_DGD_K8S_NAME": graph.name,
        "DYN_PARENT_DGD_K8S_NAMESPACE": graph.namespace,
    }
    if graph.discovery == "kubernetes":
        values["DYN_DISCOVERY_BACKEND"] = "kubernetes"
    if component.get("type") == "frontend":
        values |= {
            "DYNAMO_PORT": str(_HTTP_PORT),
            "DYN_HTTP_PORT": str(_HTTP_PORT),
            "DYN_NAMESPACE_PREFIX": namespace,
        }
    elif component.get("type") in WORKERS:
        values |= {
            "DYN_SYSTEM_ENABLED": "true",
            "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS": '["generate"]',
            "DYN_SYSTEM_PORT": str(_SYSTEM_PORT),
            "DYN_HEALTH_CHECK_ENABLED": "false",
            "NIXL_TELEMETRY_ENABLE": "y",
            "NIXL_TELEMETRY_EXPORTER": "prometheus",
            "NIXL_TELEMETRY_PROMETHEUS_PORT": str(_NIXL_PORT),
            "DYN_FORWARDPASS_METRIC_PORT": "20380",
        }
    about = {"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace", "POD_UID": "metadata.uid"}
    variables: dict[str, dict[str, Any]] = {name: {"name": name, "value": value} for name, value in values.items()}
    variables |= {name: {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in about.items()}
    for entry in [*(graph.spec.get("env") or []), *own.get("env", [])]:
        variables[entry["name"]] = dict(entry)
    return list(variables.values())


def _frontend() -> dict[str, Any]:
    return {
        "command": ["python3"],
        "args": ["-m", "dynamo.frontend"],
        "ports": [{"name": "http", "containerPort": _HTTP_PORT, "protocol": "TCP"}],
        "livenessProbe": _probe("/live", "http", initialDelaySeconds=15, periodSeconds=10, timeoutSeconds=1),
        "readinessProbe": _probe("/health", "http", initialDelaySeconds=10, periodSeconds=10, timeoutSeconds=3),
    }


def _worker(liveness_failures: int) -> dict[str, Any]:
    return {
        "ports": [
            {"name": "system", "containerPort": _SYSTEM_PORT, "protocol": "TCP"},
            {"name": "nixl", "containerPort": _NIXL_PORT, "protocol": "TCP"},
        ],
        "livenessProbe": _probe(
            "/live", "system", periodSeconds=5, timeoutSeconds=4, failureThreshold=liveness_failures
        ),
        "readinessProbe": _probe("/health", "system", periodSeconds=10, timeoutSeconds=4),
        "startupProbe": _probe("/live", "system", periodSeconds=10, timeoutSeconds=5, failureThreshold=720),
    }


def _probe(path: str, port: str, **numbers: int) -> dict[str, Any]:
    return {"httpGet": {"path": path, "port": port}, "failureThreshold": 3, **numbers}


def _version(component: Manifest, main: Manifest) -> tuple[int, ...]:
    """Return the runtime's version, from the override or the image's tag; zero where neither says."""
    tag = main["image"].partition("@")[0].rpartition("/")[2].partition(":")[2]
    found = re.match(r"v?(\d+)\.(\d+)\.(\d+)", component.get("runtimeVersionOverride") or tag)
    return tuple(map(int, found.groups())) if found else (0, 0, 0)


def _share_memory(spec: dict[str, Any], size: str) -> None:
    """Mount /dev/shm of a size; "0" leaves it as containers have it."""
    if re.fullmatch(r"0+(\.0*)?[A-Za-z]*", size):
        return
    main = spec["containers"][0]
    volume: Mapping[str, Any] = {"name": _SHARED_MEMORY, "emptyDir": {"medium": "Memory", "sizeLimit": size}}
    spec["volumes"] = [*(entry for entry in spec.get("volumes", []) if entry["name"] != _SHARED_MEMORY), volume]
    kept = [
        mount
        for mount in main.get("volumeMounts", [])
        if mount["name"] != _SHARED_MEMORY and mount["mountPath"] != "/dev/shm"  # noqa: S108 - the containers' path
    ]
    main["volumeMounts"] = [*kept, {"name": _SHARED_MEMORY, "mountPath": "/dev/shm"}]  # noqa: S108
