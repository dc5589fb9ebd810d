"""vLLM workers: one Deployment, a pod per replica, each on GPUs of one node.

- There are no spare GPUs, so a pod can only be replaced after the old one is gone: no surge, one at a time.
- A pod that is told to go first waits, so that load balancers hear of it, then finishes its requests
  (``--shutdown-timeout``); the grace period covers both.
- The pod meets Pod Security's ``restricted`` level: the image's unprivileged user, no capability, no privilege
  escalation, read-only root. Weights are read from the node through a claim (see ``manifests.weight_volume``).
- Service links are off: Kubernetes would otherwise set a variable for every Service of the namespace, and vLLM reads
  some of these names (a Service called ``vllm`` sets VLLM_PORT to a URL).
- The engine never calls the Kubernetes API, so it gets no token.
- No CPU limit: throttling the API server's process would delay every token. Memory, storage and GPUs are limited.
"""

from __future__ import annotations

from typing import Any

from manifests.engine_arguments import KV_TIER_PATH, engine_arguments
from manifests.engine_environment import CACHE_PATH, engine_environment
from manifests.naming import ENGINE, labels, metadata, selector
from manifests.objects import KubernetesObject
from manifests.placement import accelerator_labels, accelerator_tolerations
from manifests.pod_security import confined, unprivileged
from manifests.scripts import AWAIT_WEIGHTS
from manifests.weight_sets import MOUNT_PATH, weight_sets
from manifests.weight_volume import claim_name
from stacks.resolve import StackSpec
from stacks.spec import LocalSsdOffload

__all__ = ["PORT_NAME", "engine"]

PORT_NAME = "http"
_PROBE_PERIOD_S = 10
_READINESS_PERIOD_S = 5
_FAILURES_BEFORE_RESTART = 6
"""A restart costs the whole startup budget, and a very long prompt can hold the server up for seconds; a dead engine
answers 503 at once and is restarted after a minute."""


def engine(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """Service account, Deployment and, for several replicas, the disruption budget."""
    return (
        _service_account(spec),
        _deployment(spec),
        *([_disruption_budget(spec)] if spec.derived.replicas > 1 else []),
    )


def _service_account(spec: StackSpec) -> KubernetesObject:
    return KubernetesObject(
        area="serving",
        name="engine-service-account",
        body={
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": metadata(spec, ENGINE, component=ENGINE),
            "automountServiceAccountToken": False,
        },
    )


def _deployment(spec: StackSpec) -> KubernetesObject:
    derived = spec.derived
    return KubernetesObject(
        area="serving",
        name="engine",
        body={
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata(spec, ENGINE, component=ENGINE),
            "spec": {
                "replicas": spec.derived.replicas,
                "progressDeadlineSeconds": derived.termination_grace_s + derived.workload_budget_s,
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
                "selector": {"matchLabels": selector(spec, ENGINE)},
                "template": {
                    "metadata": {
                        "labels": {
                            **labels(spec, ENGINE),
                            "llm-d.ai/inference-serving": "true",
                            "llm-d.ai/model": spec.preset.model.name,
                        }
                    },
                    "spec": _pod(spec),
                },
            },
        },
        timeout_s=derived.workload_budget_s,
        update_timeout_s=derived.rollout_budget_s,
        after=("engine-service-account",),
    )


def _pod(spec: StackSpec) -> dict[str, Any]:
    pod: dict[str, Any] = {
        "serviceAccountName": ENGINE,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": spec.derived.termination_grace_s,
        "nodeSelector": accelerator_labels(spec),
        "tolerations": accelerator_tolerations(spec),
        "securityContext": unprivileged(spec.rows.engine_user.uid),
        "initContainers": [_await_weights(spec)],
        "containers": [_container(spec)],
        "volumes": _volumes(spec),
    }
    if spec.derived.replicas > 1:
        pod["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": selector(spec, ENGINE)},
                "matchLabelKeys": ["pod-template-hash"],
            }
        ]
    return pod


def _await_weights(spec: StackSpec) -> dict[str, Any]:
    """A fresh node is schedulable before its weights are there; without this step vLLM would fail and back off."""
    sets = [argument for s in weight_sets(spec) for argument in (s.path, s.marker)]
    return {
        "name": "await-weights",
        "image": str(spec.images["engine"]),
        "command": ["/bin/sh", "-c", AWAIT_WEIGHTS, "await-weights", *sets],
        "resources": {"requests": {"cpu": "50m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}},
        "securityContext": confined(),
        "volumeMounts": [{"name": "weights", "mountPath": MOUNT_PATH, "readOnly": True}],
    }


def _container(spec: StackSpec) -> dict[str, Any]:
    return {
        "name": ENGINE,
        "image": str(spec.images["engine"]),
        "command": ["vllm", "serve"],
        "args": engine_arguments(spec),
        "env": engine_environment(spec),
        "ports": [{"name": PORT_NAME, "containerPort": spec.derived.engine_port, "protocol": "TCP"}],
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
        "resources": _resources(spec),
        "securityContext": confined(),
        "volumeMounts": _mounts(spec),
    }


def _resources(spec: StackSpec) -> dict[str, Any]:
    derived = spec.derived
    bounded = {
        "memory": f"{derived.pod_memory_gib}Gi",
        "ephemeral-storage": f"{derived.pod_ephemeral_gib}Gi",
        "nvidia.com/gpu": str(derived.gpus_per_pod),
    }
    return {"requests": {"cpu": str(derived.pod_cpu), **bounded}, "limits": bounded}


def _mounts(spec: StackSpec) -> list[dict[str, Any]]:
    mounts: list[dict[str, Any]] = [
        {"name": "weights", "mountPath": MOUNT_PATH, "readOnly": True},
        {"name": "cache", "mountPath": CACHE_PATH},
        {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - in the container
        {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108 - in the container
    ]
    if isinstance(spec.preset.serving.kv_cache.offload, LocalSsdOffload):
        mounts.append({"name": "kv-tier", "mountPath": KV_TIER_PATH})
    return mounts


def _volumes(spec: StackSpec) -> list[dict[str, Any]]:
    """Plain emptyDirs are on the node's local SSD here; their size is bounded by the pod's ephemeral-storage limit."""
    volumes: list[dict[str, Any]] = [
        {"name": "weights", "persistentVolumeClaim": {"claimName": claim_name(spec), "readOnly": True}},
        {"name": "cache", "emptyDir": {}},
        {"name": "tmp", "emptyDir": {}},
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{spec.derived.shm_gib}Gi"}},
    ]
    if isinstance(spec.preset.serving.kv_cache.offload, LocalSsdOffload):
        volumes.append({"name": "kv-tier", "emptyDir": {}})
    return volumes


def _disruption_budget(spec: StackSpec) -> KubernetesObject:
    return KubernetesObject(
        area="serving",
        name="engine-disruption-budget",
        body={
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": metadata(spec, ENGINE, component=ENGINE),
            "spec": {
                "maxUnavailable": 1,
                "selector": {"matchLabels": selector(spec, ENGINE)},
                "unhealthyPodEvictionPolicy": "AlwaysAllow",  # an engine that cannot start must not block a drain
            },
        },
    )
