"""The pod of a vLLM engine, the same under a Deployment and a LeaderWorkerSet.

- A pod that is told to go first waits, so that load balancers hear of it, then finishes its requests
  (``--shutdown-timeout``); the grace period covers both.
- The pod meets Pod Security's ``restricted`` level: the image's unprivileged user, no capability, no privilege
  escalation, read-only root; except where the transport asks for a capability (see ``manifests.pod_security``).
  Weights are mounted read-only (see ``manifests.weight_mounts``).
- Service links are off: Kubernetes would otherwise set a variable for every Service of the namespace, and vLLM reads
  some of these names (a Service called ``vllm`` sets VLLM_PORT to a URL).
- The engine never calls the Kubernetes API, so it gets no token.
- No CPU limit: throttling the API server's process would delay every token. Memory, storage and GPUs are limited.
- With prefill apart, a decode pod has a proxy before its engine. Nothing else in a pod depends on its role but sizes,
  names and ports; a prefill engine that is told to go keeps blocks that were not fetched yet as it keeps requests
  (scheduler.py: has_finished_requests), so both wait alike.
- Of a replica over several nodes only the first pod serves. The others have no port, so no probe: their process ends
  when a rank fails, and its group with it.
"""

from __future__ import annotations

from typing import Any

from manifests.caches import CACHE_PATH
from manifests.engine_arguments import engine_arguments
from manifests.engine_environment import engine_environment
from manifests.engine_roles import engine_port, pod_labels, revision_label, role_selector
from manifests.fabric_claims import capabilities, pod_affinity, pod_claims
from manifests.kv_tier import has_local_ssd_tier, kv_tier_mount, kv_tier_volume
from manifests.llmd.routing_sidecar import routing_sidecar
from manifests.naming import ENGINE, ENGINE_WORKER
from manifests.placement import accelerator_tolerations, serving_nodes
from manifests.pod_security import confined, runs_as
from manifests.pod_size import engine_resources, pod_size
from manifests.scaling import plain_label
from manifests.tier_evictor import evictor_volume, evictors, needs_evictor
from manifests.weight_mounts import weight_mounts
from stacks.resolve import StackSpec
from stacks.roles import Role

__all__ = ["PORT_NAME", "engine_pod", "every_pod", "pod_template"]

PORT_NAME = "http"
_PROBE_PERIOD_S = 10
_READINESS_PERIOD_S = 5
_FAILURES_BEFORE_RESTART = 6
"""A restart costs the whole startup budget, and a very long prompt can hold the server up for seconds; a dead engine
answers 503 at once and is restarted after a minute."""


def pod_template(spec: StackSpec, role: Role, *, serves: bool = True) -> dict[str, Any]:
    """Template of the pods that serve the API, or of those that only run ranks for one that does."""
    own = {"llm-d.ai/inference-serving": "true", "llm-d.ai/model": spec.preset.model.name} if serves else {}
    return {
        "metadata": weight_mounts(spec).metadata({**pod_labels(spec, role, serves=serves), **own, **plain_label(spec)}),
        "spec": engine_pod(spec, role, serves=serves),
    }


def engine_pod(spec: StackSpec, role: Role, *, serves: bool = True) -> dict[str, Any]:
    """Spec of one engine pod."""
    claims, nodes = pod_claims(spec), serving_nodes(spec)
    affinity = {**nodes.get("affinity", {}), **pod_affinity(spec, keys=[revision_label(spec, role)])}
    before = [*weight_mounts(spec).before, *evictors(spec, role), *(routing_sidecar(spec, role) if serves else [])]
    return {
        "serviceAccountName": ENGINE,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        **({"terminationGracePeriodSeconds": spec.derived.termination_grace_s} if serves else {}),
        **nodes,
        "tolerations": accelerator_tolerations(spec),
        **({"affinity": affinity} if affinity else {}),
        "securityContext": runs_as(spec.rows.engine_user.uid, capabilities(spec)),
        **({"resourceClaims": claims} if claims else {}),
        **({"initContainers": before} if before else {}),
        "containers": [_container(spec, role, serves=serves)],
        "volumes": _volumes(spec, role),
    }


def _container(spec: StackSpec, role: Role, *, serves: bool) -> dict[str, Any]:
    return {
        "name": ENGINE,
        "image": str(spec.images["engine"]),
        "command": ["vllm", "serve"],
        "args": engine_arguments(spec, role, serves=serves),
        "env": engine_environment(spec, role),
        **(_serving(spec, role) if serves else {}),
        "resources": engine_resources(spec, role),
        "securityContext": confined(capabilities(spec)),
        "volumeMounts": _mounts(spec, role),
    }


def _serving(spec: StackSpec, role: Role) -> dict[str, Any]:
    """What only a container with an API has: a port, probes, and a pause before it goes."""
    return {
        "ports": [{"name": PORT_NAME, "containerPort": engine_port(spec, role), "protocol": "TCP"}],
        "startupProbe": {
            "httpGet": {"path": "/v1/models", "port": PORT_NAME},
            "periodSeconds": _PROBE_PERIOD_S,
            "timeoutSeconds": _READINESS_PERIOD_S,
            "failureThreshold": -(-spec.derived.engine_startup_budget_s // _PROBE_PERIOD_S),
        },
        "readinessProbe": {
            "httpGet": {"path": "/v1/models", "port": PORT_NAME},
            "periodSeconds": _READINESS_PERIOD_S,
            "timeoutSeconds": _READINESS_PERIOD_S,
        },
        "livenessProbe": {
            "httpGet": {"path": "/health", "port": PORT_NAME},
            "periodSeconds": _PROBE_PERIOD_S,
            "timeoutSeconds": _PROBE_PERIOD_S,
            "failureThreshold": _FAILURES_BEFORE_RESTART,
        },
        "lifecycle": {"preStop": {"sleep": {"seconds": spec.derived.drain_pause_s}}},
    }


def _mounts(spec: StackSpec, role: Role) -> list[dict[str, Any]]:
    mounts: list[dict[str, Any]] = [
        *weight_mounts(spec).mounts,
        {"name": "cache", "mountPath": CACHE_PATH},
        {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - in the container
        {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108 - in the container
    ]
    if role.tiered and has_local_ssd_tier(spec):
        mounts.append(kv_tier_mount(spec))
    return mounts


def _volumes(spec: StackSpec, role: Role) -> list[dict[str, Any]]:
    """Plain emptyDirs are on local SSD, or on the boot disk where that is raw block; the pod's limit bounds them."""
    volumes: list[dict[str, Any]] = [
        *weight_mounts(spec).volumes,
        {"name": "cache", "emptyDir": {}},
        {"name": "tmp", "emptyDir": {}},
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{pod_size(spec, role).shm}Gi"}},
    ]
    if role.tiered and has_local_ssd_tier(spec):
        volumes.append(kv_tier_volume(spec))
    if needs_evictor(spec, role):
        volumes.append(evictor_volume())
    return volumes


def every_pod(spec: StackSpec, role: Role) -> dict[str, Any]:
    """Selector of all pods of all replicas: losing any pod of a group costs the group, so one pod is one replica."""
    labels = role_selector(spec, role)
    if spec.derived.nodes_per_replica == 1:
        return {"matchLabels": labels}
    component = "app.kubernetes.io/component"
    del labels[component]
    return {
        "matchLabels": labels,
        "matchExpressions": [{"key": component, "operator": "In", "values": [ENGINE, ENGINE_WORKER]}],
    }
