"""How many pods of a component a node drain may take at once: one. Neither Dynamo nor Grove makes such budgets.

Grove's pods belong to a kind whose size Kubernetes can read, but a minimum holds whoever owns them, so the budget names
one. Losing any pod of a replica over several nodes costs the replica: one pod is one replica.
Source: Kubernetes docs, PodDisruptionBudget, arbitrary workloads
"""

from __future__ import annotations

from manifests.chosen import dynamo_router
from manifests.dynamo.names import FRONTEND, member_selector
from manifests.naming import ENGINE, metadata
from manifests.objects import KubernetesObject
from stacks.resolve import StackSpec

__all__ = ["disruption_budgets"]


def disruption_budgets(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """One for every component with several replicas."""
    frontends, nodes = dynamo_router(spec).frontends, spec.derived.nodes_per_replica
    budgets = [
        _budget(spec, role.name, ENGINE, member_selector(spec, ENGINE, role=role.name), pods=role.replicas * nodes)
        for role in spec.roles
        if role.replicas > 1
    ]
    if frontends > 1:
        budgets.append(_budget(spec, FRONTEND, FRONTEND, member_selector(spec, FRONTEND), pods=frontends))
    return tuple(budgets)


def _budget(spec: StackSpec, name: str, component: str, selector: dict[str, str], *, pods: int) -> KubernetesObject:
    return KubernetesObject(
        area="serving",
        name=f"{name}-disruption-budget",
        body={
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": metadata(spec, name, component=component),
            "spec": {
                "minAvailable": pods - 1,
                "selector": {"matchLabels": selector},
                "unhealthyPodEvictionPolicy": "AlwaysAllow",  # a pod that cannot start must not block a drain
            },
        },
    )
