"""From a checked stack to Kubernetes objects: pure functions, no Pulumi, no cluster.

``render`` is the one way in; ``weights_service_account`` tells which Kubernetes service account may act as Google's.
"""

from __future__ import annotations

from manifests.naming import WEIGHTS, weights_namespace
from manifests.objects import Area, KubernetesObject
from manifests.render import render
from stacks.resolve import StackSpec

__all__ = ["Area", "KubernetesObject", "render", "weights_service_account"]


def weights_service_account(spec: StackSpec) -> tuple[str, str]:
    """Namespace and name of the Kubernetes service account that seeding pods run as, for Workload Identity."""
    return weights_namespace(spec), WEIGHTS
