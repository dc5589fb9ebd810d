"""The frontends: OpenAI API, tokenizing, and the router that chooses a worker for each request.

- They run from the engine's image, on system nodes and without a GPU: tokenizer and parsers are the engine's own,
  because Dynamo's parsers do not know every model (``--dyn-chat-processor``). The parsers are named here: workers would
  not tell them. The model files that this takes come from the workers' system ports, over the network.
- How it routes is said by ``manifests.dynamo.routing_flags``, and a file that is mounted.
- A request whose worker goes is carried on by another, a few times at most (``--migration-limit``).
- All of a frontend is on one port, metrics included.
- The Service is the kit's: routes name it, and it does not depend on how the operator names its own.
Source: ai-dynamo 1.6.1, dynamo/frontend; deploy/operator/internal/dynamo/component_frontend.go
"""

from __future__ import annotations

from typing import Any

from manifests.caches import CACHE_PATH
from manifests.chosen import dynamo_release, dynamo_router
from manifests.dynamo.environment import frontend_environment
from manifests.dynamo.names import FRONTEND, FRONTEND_PORT_NAME, MAIN, member_selector
from manifests.dynamo.parsers import frontend_parsers
from manifests.dynamo.policy_file import POLICY_PATH, policy_object
from manifests.dynamo.routing_flags import routing_flags
from manifests.flags import flags
from manifests.naming import metadata
from manifests.objects import KubernetesObject
from manifests.placement import apart_on_nodes, system_labels, system_tolerations
from manifests.pod_security import confined, unprivileged
from stacks.resolve import StackSpec

__all__ = ["frontend", "frontend_service"]

_MIGRATIONS = 3
"""As Dynamo's documentation suggests; its default is none."""
_SCRATCH_GIB = 4
"""Tokenizer files and caches."""


def frontend(spec: StackSpec) -> dict[str, Any]:
    """Return the component, its pod template included."""
    return {
        "name": FRONTEND,
        "type": "frontend",
        "replicas": dynamo_router(spec).frontends,
        "podTemplate": {"metadata": {"labels": member_selector(spec, FRONTEND)}, "spec": _pod(spec)},
    }


def _pod(spec: StackSpec) -> dict[str, Any]:
    tolerations = system_tolerations(spec)
    return {
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": spec.derived.termination_grace_s,
        "nodeSelector": system_labels(spec),
        **({"tolerations": tolerations} if tolerations else {}),
        **apart_on_nodes(member_selector(spec, FRONTEND), dynamo_router(spec).frontends),
        "securityContext": unprivileged(spec.rows.engine_user.uid),
        "containers": [_container(spec)],
        "volumes": [{"name": "cache", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}, *_policy_volume(spec)],
    }


def _container(spec: StackSpec) -> dict[str, Any]:
    sizing = dynamo_release(spec).sizing
    return {
        "name": MAIN,
        "image": str(spec.images["engine"]),
        "command": ["python3", "-m", "dynamo.frontend"],
        "args": _arguments(spec),
        "env": frontend_environment(spec),
        "ports": [
            {"name": FRONTEND_PORT_NAME, "containerPort": dynamo_release(spec).ports.frontend, "protocol": "TCP"}
        ],
        "readinessProbe": _probe("/health", period_s=5),
        "livenessProbe": {**_probe("/live", period_s=10), "initialDelaySeconds": 15},
        "lifecycle": {"preStop": {"sleep": {"seconds": spec.derived.drain_pause_s}}},
        "resources": {
            "requests": {
                "cpu": str(sizing.cpu),
                "memory": f"{sizing.memory_gib}Gi",
                "ephemeral-storage": f"{_SCRATCH_GIB}Gi",
            },
            "limits": {"memory": f"{spec.derived.router_memory_limit_gib}Gi", "ephemeral-storage": f"{_SCRATCH_GIB}Gi"},
        },
        "securityContext": confined(),
        "volumeMounts": [
            {"name": "cache", "mountPath": CACHE_PATH},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - in the container
            *({"name": v["name"], "mountPath": POLICY_PATH, "readOnly": True} for v in _policy_volume(spec)),
        ],
    }


def _policy_volume(spec: StackSpec) -> list[dict[str, Any]]:
    policy = policy_object(spec)
    return [{"name": "router-policy", "configMap": {"name": policy.body["metadata"]["name"]}}] if policy else []


def _probe(path: str, *, period_s: int) -> dict[str, Any]:
    return {
        "httpGet": {"path": path, "port": FRONTEND_PORT_NAME},
        "periodSeconds": period_s,
        "timeoutSeconds": 3,
        "failureThreshold": 3,
    }


def _arguments(spec: StackSpec) -> list[str]:
    return flags(
        {
            "http-port": dynamo_release(spec).ports.frontend,
            **routing_flags(spec),
            "migration-limit": _MIGRATIONS,
            "dyn-chat-processor": spec.rows.engine.kind,
            **frontend_parsers(spec),
            **_apis(spec),
        }
    )


def _apis(spec: StackSpec) -> dict[str, Any]:
    """Every API that the release has; some it answers only when it is told to."""
    return {flag: True for flag in dynamo_release(spec).apis.flags.values() if flag}


def frontend_service(spec: StackSpec) -> KubernetesObject:
    """What routes and clients in the cluster call."""
    port = dynamo_release(spec).ports.frontend
    return KubernetesObject(
        area="serving",
        name="frontend-service",
        body={
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata(spec, FRONTEND, component=FRONTEND),
            "spec": {
                "type": "ClusterIP",
                "selector": member_selector(spec, FRONTEND),
                "ports": [
                    {"name": FRONTEND_PORT_NAME, "port": port, "targetPort": FRONTEND_PORT_NAME, "protocol": "TCP"}
                ],
            },
        },
        timeout_s=spec.derived.router_budget_s,
        after=("graph",),
    )
