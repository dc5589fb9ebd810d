"""When Google may maintain the machines under a pool's nodes. It stops the node, and is no upgrade of GKE's.

Host maintenance: https://cloud.google.com/kubernetes-engine/docs/concepts/handle-disruption-gpu-tpu
"""

from typing import Any, NotRequired, TypedDict

__all__ = ["HostMaintenance", "OpportunisticMaintenance", "host_maintenance_policy"]


class OpportunisticMaintenance(TypedDict):
    """Announced maintenance of a host that starts early, while nobody's pods are on the node."""

    node_idle_s: int
    """Seconds without anyone's pods after which it starts."""
    window_s: int
    """Seconds before the announced day from which on it may start, at most 2419200 (28 days)."""
    min_nodes: int
    """Nodes of the pool that have to stay."""


class HostMaintenance(TypedDict):
    """When Google may maintain the machines under the nodes."""

    interval: str
    """AS_NEEDED, or PERIODIC for machines that are reserved that way."""
    opportunistic: NotRequired[OpportunisticMaintenance]
    """With PERIODIC; left out, it comes on the announced day."""


def host_maintenance_policy(wanted: HostMaintenance) -> dict[str, Any]:
    """Return the policy in GKE's words."""
    policy: dict[str, Any] = {"maintenance_interval": wanted["interval"]}
    strategy = wanted.get("opportunistic")
    if strategy:
        policy["opportunistic_maintenance_strategy"] = {
            "node_idle_time_window": f"{strategy['node_idle_s']}s",
            "maintenance_availability_window": f"{strategy['window_s']}s",
            "min_nodes_per_pool": strategy["min_nodes"],
        }
    return policy
