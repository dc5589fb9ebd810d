"""The llm-d router: one endpoint picker that GKE's Gateway asks, for each request, which engine shall serve it.

- One of them chooses. What it knows of prefixes, sessions and queues is in its memory, and two would disagree; so of
  several, one is elected and the others stand by, not ready, until its lease ends: at once where it goes in order,
  after 15 seconds where its node dies. What it knew is gone then. Only where all of it comes from engines' events do
  all choose. Who stands by is never ready, so a budget that keeps one pod would block every drain of a node, and ``up``
  is done when one is ready.
- They are replaced without surge, as a small system pool has no room for more. Unlike ``Recreate``, this starts the new
  pod while the old one still finishes its streams; for the seconds without one see ``manifests.llmd.inference_pool``.
  With Envoy beside it (``manifests.llmd.envoy``) nothing would serve in these seconds, so the new one comes first.
- Metrics without authentication, guarded by a NetworkPolicy. The alternative (the picker's own default) needs
  cluster-wide rights for the picker to review tokens, and a token without expiry in a Secret that the collectors may
  read. Here the port answers only Managed Prometheus, and profiling, which shares the port, is off.
- Rights: it reads pods, its pool, and llm-d's objectives and rewrites, all in its own namespace; nothing cluster-wide.
  It does call the API, so it is the one pod of this namespace that has a token.
Source: llm-d-router v0.10.0, cmd/epp, pkg/epp/server and chart routerlib.
"""

from __future__ import annotations

from typing import Any

from manifests.chosen import llmd_release, llmd_router
from manifests.config_maps import fixed_files
from manifests.llmd.envoy import (
    ENVOY_PORT_NAME,
    envoy_config,
    envoy_container,
    envoy_volume,
    has_envoy,
)
from manifests.llmd.inference_pool import pool_reference
from manifests.llmd.objectives import objectives
from manifests.llmd.picker_config import CONFIG_FILE, picker_config, takes_experimental_plugins
from manifests.naming import ROUTER, content_name, engine_namespace, labels, metadata, selector
from manifests.objects import KubernetesObject
from manifests.placement import apart_on_nodes, system_labels, system_tolerations
from manifests.pod_security import confined, unprivileged
from stacks.picker_state import kept_by_one_picker
from stacks.resolve import StackSpec

__all__ = ["METRICS_PORT_NAME", "router"]

METRICS_PORT_NAME = "metrics"
_CONFIG_PATH = "/config"


def _elects(spec: StackSpec) -> bool:
    """Whether one of several pickers chooses and the others stand by."""
    return llmd_router(spec).replicas > 1 and bool(kept_by_one_picker(spec.preset.serving.routing))


def router(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """Identity, rights, configuration, Deployment and Service."""
    return (
        _service_account(spec),
        _role(spec),
        _role_binding(spec),
        _config_map(spec),
        *([envoy_config(spec, _health_service(spec, "readiness"))] if has_envoy(spec) else []),
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
                *(_of_election() if _elects(spec) else []),
            ],
        },
    )


def _of_election() -> list[dict[str, Any]]:
    """The lease, whose name the picker makes of namespace and pool, and the events that tell of it."""
    return [
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
        },
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
    ]


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
    return {CONFIG_FILE: picker_config(spec)}


def _config_name(spec: StackSpec) -> str:
    return content_name("router-config", _config_data(spec))


def _config_map(spec: StackSpec) -> KubernetesObject:
    """The picker reads its file once, at start: a new name for new content makes the Deployment roll."""
    called = _config_name(spec)
    return fixed_files(spec, "router-config", _config_data(spec), called=called, component=ROUTER)


def _deployment(spec: StackSpec) -> KubernetesObject:
    derived, replicas = spec.derived, llmd_router(spec).replicas
    return KubernetesObject(
        area="serving",
        name="router",
        body={
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata(spec, ROUTER, component=ROUTER),
            "spec": {
                "replicas": replicas,
                "progressDeadlineSeconds": derived.router_rollout_budget_s,
                "strategy": {"type": "RollingUpdate", "rollingUpdate": _replacement(spec)},
                "selector": {"matchLabels": selector(spec, ROUTER)},
                "template": {"metadata": {"labels": labels(spec, ROUTER)}, "spec": _pod(spec)},
            },
        },
        timeout_s=derived.router_budget_s,
        update_timeout_s=derived.router_rollout_budget_s,
        wait_for=("jsonpath={.status.readyReplicas}",) if _elects(spec) else (),
        # It looks for its kinds once, at start, and is ready when it has read its pool.
        after=(
            "crd-inferenceobjectives",
            "crd-inferencemodelrewrites",
            "router-role-binding",
            "router-config",
            *(["router-envoy"] if has_envoy(spec) else []),
            "router-network-policy",
            "inference-pool",
            *(item.name for item in objectives(spec)),
        ),
    )


def _replacement(spec: StackSpec) -> dict[str, int]:
    """How many come before others go.

    The one that stands by is no room: as long as it is not ready, the chosen one would never be let go. And what
    requests pass through has to be there before its predecessor goes.
    """
    if _elects(spec):
        return {"maxSurge": 0, "maxUnavailable": llmd_router(spec).replicas}
    return {"maxSurge": 1, "maxUnavailable": 0} if has_envoy(spec) else {"maxSurge": 0, "maxUnavailable": 1}


def _pod(spec: StackSpec) -> dict[str, Any]:
    tolerations = system_tolerations(spec)
    return {
        "serviceAccountName": ROUTER,
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": spec.derived.proxy_grace_s or spec.derived.termination_grace_s,
        "nodeSelector": system_labels(spec),
        **({"tolerations": tolerations} if tolerations else {}),
        **apart_on_nodes(selector(spec, ROUTER), llmd_router(spec).replicas),
        "securityContext": unprivileged(llmd_release(spec).user.uid),
        **({"initContainers": [envoy_container(spec)]} if has_envoy(spec) else {}),
        "containers": [_container(spec)],
        "volumes": [
            {"name": "config", "configMap": {"name": _config_name(spec)}},
            *([envoy_volume(spec, _health_service(spec, "readiness"))] if has_envoy(spec) else []),
        ],
    }


def _health_service(spec: StackSpec, service: str) -> str:
    """Of one picker among several, liveness and readiness differ; of a single one any name will do."""
    return service if _elects(spec) else "inference-extension"


def _probe(spec: StackSpec, service: str) -> dict[str, Any]:
    return {"grpc": {"port": llmd_release(spec).ports.health, "service": _health_service(spec, service)}}


def _container(spec: StackSpec) -> dict[str, Any]:
    ports, sizing = llmd_release(spec).ports, llmd_release(spec).sizing
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
        "readinessProbe": {**_probe(spec, "readiness"), "periodSeconds": 2},
        "livenessProbe": {**_probe(spec, "liveness"), "initialDelaySeconds": 5, "periodSeconds": 10},
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
        *(_asked_by_envoy(spec) if has_envoy(spec) else []),
        *(["--ha-enable-leader-election=true"] if _elects(spec) else []),
        *(["--allow-experimental-plugins=true"] if takes_experimental_plugins(spec) else []),
    ]


def _asked_by_envoy(spec: StackSpec) -> list[str]:
    """Within the pod, and with a whole body at once, of which gRPC's own limit is 4 MiB."""
    limit = ((spec.derived.request_limit_mib or 0) + 1) * 2**20
    return ["--secure-serving=false", f"--grpc-max-recv-msg-size={limit}"]


def _service(spec: StackSpec) -> KubernetesObject:
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
                "ports": _service_ports(spec),
            },
        },
        timeout_s=spec.derived.router_budget_s,
        after=("router",),
    )


def _service_ports(spec: StackSpec) -> list[dict[str, Any]]:
    """The picker, whom the pool names, and Envoy, whom the route names then; policies close what nobody asks."""
    picker = {
        "name": "ext-proc",
        "port": llmd_release(spec).ports.ext_proc,
        "targetPort": "ext-proc",
        "protocol": "TCP",
        "appProtocol": "kubernetes.io/h2c",
    }
    port = llmd_release(spec).proxy.port
    envoy = {"name": ENVOY_PORT_NAME, "port": port, "targetPort": ENVOY_PORT_NAME, "protocol": "TCP"}
    return [picker, envoy] if has_envoy(spec) else [picker]
