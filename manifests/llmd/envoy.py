"""Envoy in the router's pod (``serving.router.proxy: envoy``), to which the load balancer sends every request.

- It is a sidecar of Kubernetes' own kind: it is there before the picker, and is ended after it. A picker that is to go
  says so at once, answers for a pause, and ends with the last request that it was asked about, since each has an open
  stream to it. Envoy alone would end on its first signal, with all that it has.
- A pod is ready while both are, and the load balancer asks Envoy, which asks the picker: so beside a picker that stands
  by it gets nothing.
- Its file is another object's name for other content, as the picker's is.
Source: llm-d-router v0.10.0, chart llm-d-router-standalone; cmd/epp/runner/runner.go, runWithGracefulShutdown;
Kubernetes docs, sidecar containers
"""

from __future__ import annotations

from typing import Any

from manifests.chosen import llmd_release, llmd_router
from manifests.config_maps import fixed_files
from manifests.llmd.envoy_bootstrap import LIVE_PATH, READY_PATH, bootstrap
from manifests.naming import ROUTER, content_name
from manifests.objects import KubernetesObject
from manifests.pod_security import confined
from manifests.rendering import document
from stacks.resolve import StackSpec

__all__ = [
    "ENVOY_METRICS_PORT_NAME",
    "ENVOY_PORT_NAME",
    "envoy_config",
    "envoy_container",
    "envoy_reference",
    "envoy_volume",
    "has_envoy",
]

ENVOY_METRICS_PORT_NAME = "envoy-metrics"
ENVOY_PORT_NAME = "http"
_NAME = "envoy"
_HEALTH_PORT_NAME = "envoy-health"
_FILE = "envoy.yaml"
_PATH = "/etc/envoy"


def has_envoy(spec: StackSpec) -> bool:
    """Whether requests come by way of it; the load balancer asks the picker by itself where they do not."""
    return llmd_router(spec).proxy == "envoy"


def envoy_reference(spec: StackSpec) -> dict[str, Any]:
    """How a route names it: a port of the router's Service."""
    return {"kind": "Service", "name": ROUTER, "port": llmd_release(spec).proxy.port}


def _data(spec: StackSpec, picker_health: str) -> dict[str, str]:
    return {_FILE: document(bootstrap(spec, picker_health=picker_health))}


def envoy_config(spec: StackSpec, picker_health: str) -> KubernetesObject:
    """Its file; ``picker_health`` is the gRPC health service by which the picker says that it is ready."""
    data = _data(spec, picker_health)
    called = content_name("router-envoy", data)
    return fixed_files(spec, "router-envoy", data, called=called, component=ROUTER)


def envoy_volume(spec: StackSpec, picker_health: str) -> dict[str, Any]:
    """The pod's volume with that file."""
    return {"name": _NAME, "configMap": {"name": content_name("router-envoy", _data(spec, picker_health))}}


def envoy_container(spec: StackSpec) -> dict[str, Any]:
    """The sidecar. It takes as many threads as it asks for cores: by itself it takes one for each of the node's."""
    row = llmd_release(spec).proxy
    memory = f"{row.memory_gib}Gi"
    return {
        "name": _NAME,
        "image": str(spec.images["router_proxy"]),
        "restartPolicy": "Always",
        "command": ["envoy"],
        "args": [
            *("--config-path", f"{_PATH}/{_FILE}"),
            *("--concurrency", str(row.cpu)),
            *("--log-level", "warn"),
            "--disable-hot-restart",
        ],
        "ports": [
            {"name": ENVOY_PORT_NAME, "containerPort": row.port, "protocol": "TCP"},
            {"name": _HEALTH_PORT_NAME, "containerPort": row.health_port, "protocol": "TCP"},
            {"name": ENVOY_METRICS_PORT_NAME, "containerPort": row.metrics_port, "protocol": "TCP"},
        ],
        "startupProbe": {**_probe(LIVE_PATH), "periodSeconds": 1, "failureThreshold": 60},
        "readinessProbe": {**_probe(READY_PATH), "periodSeconds": 2},
        "livenessProbe": {**_probe(LIVE_PATH), "periodSeconds": 10},
        "resources": {"requests": {"cpu": str(row.cpu), "memory": memory}, "limits": {"memory": memory}},
        "securityContext": confined(),
        "volumeMounts": [{"name": _NAME, "mountPath": _PATH, "readOnly": True}],
    }


def _probe(path: str) -> dict[str, Any]:
    return {"httpGet": {"path": path, "port": _HEALTH_PORT_NAME}, "timeoutSeconds": 2}
