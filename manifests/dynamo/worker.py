"""Workers of a Dynamo graph, one component for each role: the engine, run by Dynamo, on accelerator nodes.

- The operator completes the container ``main``; what it would choose by itself and matters is said here: ports, probes
  with this stack's budgets, variables. Of a replica over several nodes it makes a leader and workers, gives them rank
  and rendezvous, and takes the probes from those that serve nothing.
- Python is the command, because the operator adds these arguments only where it recognizes Python.
- A worker serves no HTTP API. ``/live`` and ``/health`` of its system port say whether the engine is registered, so
  until it is, only the startup probe may look. Other pods find the worker by way of the Kubernetes API, with the
  service account that the operator makes for the graph; that is why these pods have a token.
- Draining needs no pause first: a worker leaves discovery by itself (see ``manifests.dynamo.environment``).
- ``/dev/shm`` is the operator's to mount (``sharedMemorySize``).
- Security, weights and service links as for other engines, see ``manifests.engine_pod``.
Source: ai-dynamo/dynamo 2a6da14, deploy/operator/internal/dynamo (component_worker.go, backend_sglang.go, graph.go)
"""

from __future__ import annotations

from typing import Any

from manifests.caches import CACHE_PATH
from manifests.chosen import dynamo_release
from manifests.dynamo.environment import tier_path, worker_environment
from manifests.dynamo.names import MAIN, SYSTEM_PORT_NAME, member_selector
from manifests.dynamo.sglang_arguments import sglang_arguments
from manifests.dynamo.vllm_arguments import vllm_arguments
from manifests.fabric_claims import capabilities, pod_affinity, pod_claims
from manifests.kv_tier import has_local_ssd_tier, kv_tier_mount, kv_tier_volume
from manifests.naming import ENGINE
from manifests.placement import accelerator_tolerations, serving_nodes
from manifests.pod_security import confined, runs_as
from manifests.pod_size import engine_resources, pod_size
from manifests.tier_evictor import evictor_volume, evictors, needs_evictor
from manifests.weight_mounts import weight_mounts
from stacks.resolve import StackSpec
from stacks.roles import Role

__all__ = ["worker"]

_PROBE_PERIOD_S = 10
_PROBE_TIMEOUT_S = 5
_FAILURES_BEFORE_RESTART = 6
"""A restart costs the whole startup budget; a dead engine is restarted after a minute."""


def worker(spec: StackSpec, role: Role) -> dict[str, Any]:
    """Return the component of one role, its pod template included."""
    nodes = spec.derived.nodes_per_replica
    return {
        "name": role.name,
        "type": role.name,
        "replicas": role.replicas,
        **({"multinode": {"nodeCount": nodes}} if nodes > 1 else {}),
        "sharedMemorySize": f"{pod_size(spec, role).shm}Gi",
        "podTemplate": {
            "metadata": weight_mounts(spec).metadata(member_selector(spec, ENGINE, role=role.name)),
            "spec": _pod(spec, role),
        },
    }


def _pod(spec: StackSpec, role: Role) -> dict[str, Any]:
    claims, nodes = pod_claims(spec), serving_nodes(spec)
    affinity = {**nodes.get("affinity", {}), **pod_affinity(spec, member_selector(spec, ENGINE))}
    before = [*weight_mounts(spec).before, *evictors(spec, role)]
    return {
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": spec.derived.termination_grace_s,
        **nodes,
        "tolerations": accelerator_tolerations(spec),
        **({"affinity": affinity} if affinity else {}),
        "securityContext": runs_as(spec.rows.engine_user.uid, capabilities(spec)),
        **({"resourceClaims": claims} if claims else {}),
        **({"initContainers": before} if before else {}),
        "containers": [_container(spec, role)],
        "volumes": [
            *weight_mounts(spec).volumes,
            {"name": "cache", "emptyDir": {}},
            {"name": "tmp", "emptyDir": {}},
            *([kv_tier_volume(spec)] if _on_local_ssd(spec, role) else []),
            *([evictor_volume()] if needs_evictor(spec, role) else []),
        ],
    }


def _on_local_ssd(spec: StackSpec, role: Role) -> bool:
    return role.tiered and has_local_ssd_tier(spec)


def _container(spec: StackSpec, role: Role) -> dict[str, Any]:
    kind = spec.rows.engine.kind
    return {
        "name": MAIN,
        "image": str(spec.images["engine"]),
        "command": ["python3", "-m", dynamo_release(spec).runtimes[kind].module],
        "args": sglang_arguments(spec, role) if kind == "sglang" else vllm_arguments(spec, role),
        "env": worker_environment(spec, role),
        "ports": [{"name": SYSTEM_PORT_NAME, "containerPort": dynamo_release(spec).ports.system, "protocol": "TCP"}],
        "startupProbe": _probe("/live", failures=-(-spec.derived.engine_startup_budget_s // _PROBE_PERIOD_S)),
        "readinessProbe": _probe("/health"),
        "livenessProbe": _probe("/live", failures=_FAILURES_BEFORE_RESTART),
        "resources": engine_resources(spec, role),
        "securityContext": confined(capabilities(spec)),
        "volumeMounts": [
            *weight_mounts(spec).mounts,
            {"name": "cache", "mountPath": CACHE_PATH},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - in the container
            *([kv_tier_mount(spec, tier_path(spec))] if _on_local_ssd(spec, role) else []),
        ],
    }


def _probe(path: str, *, failures: int = 3) -> dict[str, Any]:
    """The defaults of Kubernetes are written out: the operator would put its own in their place."""
    return {
        "httpGet": {"path": path, "port": SYSTEM_PORT_NAME},
        "periodSeconds": _PROBE_PERIOD_S,
        "timeoutSeconds": _PROBE_TIMEOUT_S,
        "failureThreshold": failures,
    }
