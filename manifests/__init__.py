"""From a checked stack to Kubernetes objects: pure functions, no Pulumi, no cluster.

``render`` is the one way in. What the objects take for granted outside the cluster is told by ``buckets``,
``token_secrets`` and ``weights_service_account``, the Kubernetes service account that must be able to read these.
"""

from __future__ import annotations

from manifests.naming import WEIGHTS, weights_namespace
from manifests.objects import Area, KubernetesObject
from manifests.render import render
from manifests.weight_sets import buckets, token_secrets
from stacks.resolve import StackSpec

__all__ = ["Area", "KubernetesObject", "buckets", "render", "token_secrets", "weights_service_account"]


def weights_service_account(spec: StackSpec) -> tuple[str, str]:
    """Namespace and name of the Kubernetes service account that seeding pods run as, for Workload Identity."""
    return weights_namespace(spec), WEIGHTS
