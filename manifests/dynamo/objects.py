"""All objects of a Dynamo stack's serving area."""

from __future__ import annotations

from manifests.dynamo.disruption_budgets import disruption_budgets
from manifests.dynamo.frontend import frontend_service
from manifests.dynamo.graph import graph
from manifests.dynamo.policy_file import policy_object
from manifests.fabric_claims import claim_objects
from manifests.objects import KubernetesObject
from stacks.resolve import StackSpec

__all__ = ["dynamo_objects"]


def dynamo_objects(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """What workers claim, what frontends mount, the graph, and how its pods are reached and disrupted."""
    policy = policy_object(spec)
    return (
        *claim_objects(spec),
        *((policy,) if policy else ()),
        graph(spec),
        frontend_service(spec),
        *disruption_budgets(spec),
    )
