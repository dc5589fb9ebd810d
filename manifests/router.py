"""The llm-d router: one endpoint picker that GKE's Gateway asks, for each request, which engine shall serve it.

- One replica: the picker's idea of who has which prefix cached is in its memory, and two would disagree.
- It is replaced without surge, as a small system pool has no room for two. Unlike ``Recreate``, this starts the new pod
  while the old one still finishes its streams; for the seconds without a picker see ``manifests.inference_pool``.
- Metrics without authentication, guarded by a NetworkPolicy. The alternative (the picker's own default) needs
  cluster-wide rights for the picker to review tokens, and a token without expiry in a Secret that the collectors may
  read. Here the port answers only Managed Prometheus, and profiling, which shares the port, is off.
- Rights: it reads pods, its pool, and llm-d's objectives and rewrites, all in its own namespace; nothing cluster-wide.
  It does call the API, so it is the one pod of this namespace that has a token.
Source: llm-d-router v0.10.0, cmd/epp, pkg/epp/server and chart routerlib.
"""

from __future__ import annotations

from typing import Any

from manifests.chosen import llmd_release
from manifests.inference_pool import pool_reference
from manifests.naming import ROUTER, content_name, engine_namespace, labels, metadata, selector
from manifests.objects import KubernetesObject
from manifests.placement import system_labels, system_tolerations
from manifests.pod_security import confined, unprivileged
from manifests.router_config import CONFIG_FILE, router_config
from stacks.resolve import StackSpec

__all__ = ["METRICS_PORT_NAME", "router"]

METRICS_PORT_NAME = "metrics"
_CONFIG_PATH = "/config"
_HEALTH_SERVICE = "inference-extension"


def router(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """Identity, rights, configuration, Deployment and Service."""
    return (
        _service_account(spec),
        _role(spec),
        _role_binding(spec),
        _config_map(spec),
        _deployment(spec),
        _service(spec),
    )


def _service_account(spec: StackSpec) -> KubernetesObject:
    return KubernetesObject(
        area="serving",
        name="router-service-account",
        body={
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": metadata(spec, ROUTER, component=ROUTER),
            "automountServiceAccountToken": True,
        },
    )


def _role(spec: StackSpec) -> KubernetesObject:
    def reading(group: str, *resources: str) -> dict[str, Any]:
        return {"apiGroups": [group], "resources": list(resources), "verbs": ["get", "list", "watch"]}

    return KubernetesObject(
        area="serving",
        name="router-role",
        body={
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": metadata(spec, ROUTER, component=ROUTER),
            "rules": [
                reading("", "pods"),
                reading(pool_reference(spec)["group"], "inferencepools"),
                reading("llm-d.ai", "inferenceobjectives", "inferencemodelrewrites"),
            ],
        },
    )


def _role_binding(spec: StackSpec) -> KubernetesObject:
    return KubernetesObject(
        area="serving",
        name="router-role-binding",
        body={
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": metadata(spec, ROUTER, component=ROUTER),
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": ROUTER},
            "subjects": [{"kind": "ServiceAccount", "name": ROUTER, "namespace": engine_namespace(spec)}],
        },
        after=("router-role", "router-service-account"),
    )


def _config_data(spec: StackSpec) -> dict[str, str]:
    return {CONFIG_FILE: router_config(spec)}


def _config_name(spec: StackSpec) -> str:
    return content_name("router-config", _config_data(spec))


def _config_map(spec: StackSpec) -> KubernetesObject:
    """The picker reads its file once, at start: a new name for new content makes the Deployment roll."""
    return KubernetesObject(
        area="serving",
        name="router-config",
        body={
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata(spec, _config_name(spec), component=ROUTER),
            "immutable": True,
            "data": _config_data(spec),
        },
    )


def _deployment(spec: StackSpec) -> KubernetesObject:
    derived = spec.derived
    return KubernetesObject(
        area="serving",
        name="router",
        body={
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata(spec, ROUTER, component=ROUTER),
            "spec": {
                "replicas": 1,
                "progressDeadlineSeconds": derived.router_rollout_budget_s,
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
                "selector": {"matchLabels": selector(spec, ROUTER)},
                "template": {"metadata": {"labels": labels(spec, ROUTER)}, "spec": _pod(spec)},
            },
        },
        timeout_s=derived.router_budget_s,
        update_timeout_s=derived.router_rollout_budget_s,
        # It looks for its kinds once, at start, and is ready when it has read its pool.
        after=(
            "crd-inferenceobjectives",
            "crd-inferencemodelrewrites",
            "router-role-binding",
            "router-config",
            "router-network-policy",
            "inference-pool",
        ),
    )


def _pod(spec: StackSpec) -> dict[str, Any]:
    tolerations = system_tolerations(spec)
    return {
        "serviceAccountName": ROUTER,
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": spec.derived.termination_grace_s,
        "nodeSelector": system_labels(spec),
        **({"tolerations": tolerations} if tolerations else {}),
        "securityContext": unprivileged(llmd_release(spec).user.uid),
        "containers": [_container(spec)],
        "volumes": [{"name": "config", "configMap": {"name": _config_name(spec)}}],
    }


def _container(spec: StackSpec) -> dict[str, Any]:
    ports, sizing = llmd_release(spec).ports, llmd_release(spec).sizing
    health = {"grpc": {"port": ports.health, "service": _HEALTH_SERVICE}}
    return {
        "name": ROUTER,
        "image": str(spec.images["router"]),
        "args": _arguments(spec),
        "env": [
            {"name": "NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        ],
        "ports": [
            {"name": "ext-proc", "containerPort": ports.ext_proc, "protocol": "TCP"},
            {"name": "health", "containerPort": ports.health, "protocol": "TCP"},
            {"name": METRICS_PORT_NAME, "containerPort": ports.metrics, "protocol": "TCP"},
        ],
        "readinessProbe": {**health, "periodSeconds": 2},
        "livenessProbe": {**health, "initialDelaySeconds": 5, "periodSeconds": 10},
        "resources": {
            "requests": {"cpu": str(sizing.cpu), "memory": f"{sizing.memory_gib}Gi"},
            "limits": {"memory": f"{spec.derived.router_memory_limit_gib}Gi"},
        },
        "securityContext": confined(),
        "volumeMounts": [{"name": "config", "mountPath": _CONFIG_PATH, "readOnly": True}],
    }


def _arguments(spec: StackSpec) -> list[str]:
    ports, pool = llmd_release(spec).ports, pool_reference(spec)
    return [
        f"--pool-name={pool['name']}",
        f"--pool-namespace={engine_namespace(spec)}",
        f"--pool-group={pool['group']}",
        f"--config-file={_CONFIG_PATH}/{CONFIG_FILE}",
        f"--grpc-port={ports.ext_proc}",
        f"--grpc-health-port={ports.health}",
        f"--metrics-port={ports.metrics}",
        "--metrics-endpoint-auth=false",
        "--enable-pprof=false",
        "--tracing=false",
        f"--drain-timeout={spec.derived.drain_pause_s}s",
        "--zap-encoder=json",
    ]


def _service(spec: StackSpec) -> KubernetesObject:
    ports = llmd_release(spec).ports
    return KubernetesObject(
        area="serving",
        name="router-service",
        body={
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata(spec, ROUTER, component=ROUTER),
            "spec": {
                "type": "ClusterIP",
                "selector": selector(spec, ROUTER),
                "ports": [
                    {
                        "name": "ext-proc",
                        "port": ports.ext_proc,
                        "targetPort": "ext-proc",
                        "protocol": "TCP",
                        "appProtocol": "kubernetes.io/h2c",
                    }
                ],
            },
        },
        timeout_s=spec.derived.router_budget_s,
        after=("router",),
    )
