"""Which node pools a pod's node selector takes."""

from __future__ import annotations

from collections.abc import Sequence

from policies.objects import PodTemplate, section
from policies.pools import NodePool

__all__ = ["selected_pools"]

_GKE_DOMAINS = (
    "cloud.google.com/",
    "gke.networks.io/",
    "kubernetes.io/",
    "node.kubernetes.io/",
    "topology.kubernetes.io/",
)


def selected_pools(template: PodTemplate, pools: Sequence[NodePool]) -> list[NodePool]:
    """Pools whose nodes carry the labels the pod asks for; GKE sets more labels than a graph shows."""
    wanted = section(template.spec.get("nodeSelector"))
    return [
        pool
        for pool in pools
        if all(
            pool.labels[key] == value if key in pool.labels else key.startswith(_GKE_DOMAINS)
            for key, value in wanted.items()
        )
    ]
