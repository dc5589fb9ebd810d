"""From a checked stack to Kubernetes objects and Helm releases: pure functions, no Pulumi, no cluster.

``render`` and ``releases`` are the ways in: objects of the kit's own, and third parties' charts with their values.
What these take for granted outside the cluster is told by ``buckets``, ``token_secrets`` and
``weights_service_account``, the Kubernetes service account that must be able to read both.
"""

from __future__ import annotations

from manifests.dynamo import graph_service_account
from manifests.naming import ENGINE, WEIGHTS, engine_namespace, weights_namespace
from manifests.objects import Area, HelmRelease, KubernetesObject
from manifests.releases import releases
from manifests.render import render
from manifests.weight_sets import buckets, is_seeded, token_secrets
from stacks.resolve import StackSpec
from stacks.spec import DynamoRouter, LlmdRouter

__all__ = [
    "Area",
    "HelmRelease",
    "KubernetesObject",
    "buckets",
    "is_seeded",
    "releases",
    "render",
    "token_secrets",
    "weights_service_account",
]


def weights_service_account(spec: StackSpec) -> tuple[str, str]:
    """Namespace and name of the account, for Workload Identity: the seeding pods', or engines' where these mount."""
    if is_seeded(spec):
        return weights_namespace(spec), WEIGHTS
    match spec.preset.serving.router:
        case LlmdRouter():
            return engine_namespace(spec), ENGINE
        case DynamoRouter():
            return engine_namespace(spec), graph_service_account(spec)
