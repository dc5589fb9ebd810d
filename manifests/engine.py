"""vLLM engines: a Deployment where a replica is one pod, a LeaderWorkerSet where it spans nodes.

There are no spare GPUs, so a pod can only be replaced after the old one is gone: no surge, one replica at a time. While
a pool is drained there are: its pods stay until their successors on other pools are ready. Where replicas come and go
with the load (``manifests.scaling``), the Deployment says no number: two would set it.
"""

from __future__ import annotations

from typing import Any

from manifests.engine_pod import every_pod, pod_template
from manifests.engine_roles import role_selector, workload_name
from manifests.fabric_claims import claim_objects
from manifests.leader_worker_set import leader_worker_set
from manifests.naming import ENGINE, metadata
from manifests.objects import KubernetesObject
from manifests.placement import apart_on_nodes
from manifests.rollout import one_at_a_time
from manifests.tier_evictor import evictor_objects
from stacks.resolve import StackSpec
from stacks.roles import Role

__all__ = ["engine"]


def engine(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """What engine pods claim, their service account, and for each role the workload and, if many, their budget."""
    workload = _deployment if spec.derived.nodes_per_replica == 1 else leader_worker_set
    return (
        *claim_objects(spec),
        _service_account(spec),
        *(workload(spec, role) for role in spec.roles),
        *(_disruption_budget(spec, role) for role in spec.roles if role.replicas > 1),
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


def _deployment(spec: StackSpec, role: Role) -> KubernetesObject:
    derived = spec.derived
    return KubernetesObject(
        area="serving",
        name=workload_name(role),
        body={
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata(spec, workload_name(role), component=ENGINE),
            "spec": {
                **({} if spec.preset.serving.scaling else {"replicas": role.replicas}),
                "progressDeadlineSeconds": derived.termination_grace_s + derived.workload_budget_s,
                "strategy": {"type": "RollingUpdate", "rollingUpdate": one_at_a_time(spec)},
                "selector": {"matchLabels": role_selector(spec, role)},
                "template": _spread(spec, role, pod_template(spec, role)),
            },
        },
        timeout_s=derived.workload_budget_s,
        update_timeout_s=derived.rollout_budget_s,
        after=(
            "engine-service-account",
            f"{workload_name(role)}-network-policy",
            *(item.name for item in (*claim_objects(spec), *evictor_objects(spec))),
        ),
    )


def _spread(spec: StackSpec, role: Role, template: dict[str, Any]) -> dict[str, Any]:
    apart = apart_on_nodes(role_selector(spec, role), role.replicas, keys=["pod-template-hash"])
    return {**template, "spec": {**template["spec"], **apart}}


def _disruption_budget(spec: StackSpec, role: Role) -> KubernetesObject:
    return KubernetesObject(
        area="serving",
        name=f"{workload_name(role)}-disruption-budget",
        body={
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": metadata(spec, workload_name(role), component=ENGINE),
            "spec": {
                "maxUnavailable": 1,
                "selector": every_pod(spec, role),
                "unhealthyPodEvictionPolicy": "AlwaysAllow",  # an engine that cannot start must not block a drain
            },
        },
    )
