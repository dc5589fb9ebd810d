"""What of the stack exists already: what it holds need not be free once more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from beamline.preflight.google import NotFoundError
from beamline.preflight.target import Target
from beamline.preflight.world import World

__all__ = ["Applied", "look_applied"]


@dataclass(frozen=True)
class Applied:
    """Whether the cluster exists, and how many nodes the stack's own pools have in it."""

    cluster: bool = False
    accelerator_nodes: int = 0
    system_nodes: int = 0
    version: str = ""
    """Of the control plane."""
    node_versions: tuple[str, ...] = ()
    """Of those of the stack's pools that are there."""
    subnetwork: str = ""
    """Name of the subnet of the cluster's nodes."""
    reservations: tuple[str, ...] = ()
    """What the accelerator pool's affinity names: a reservation, or a part of one."""


def look_applied(target: Target, world: World) -> Applied:
    """Ask for the cluster and its pools; the number is what the pools were made or resized to."""
    name = f"projects/{target.project}/locations/{target.region}/clusters/{target.cluster_name}"
    try:
        answer = world.google.call("container", "projects.locations.clusters.get", name=name)
    except NotFoundError:
        return Applied()
    pools: dict[str, Any] = {pool["name"]: pool for pool in answer.get("nodePools", [])}
    accelerator = pools.get(target.spec.accelerator_pool_name, {})
    system = pools.get(target.spec.system_pool_name, {})
    return Applied(
        cluster=True,
        accelerator_nodes=int(accelerator.get("initialNodeCount", 0)),
        system_nodes=int(system.get("initialNodeCount", 0)),
        version=answer.get("currentMasterVersion", ""),
        node_versions=tuple(pool.get("version", "") for pool in (accelerator, system) if pool),
        subnetwork=answer.get("subnetwork", ""),
        reservations=tuple(accelerator.get("config", {}).get("reservationAffinity", {}).get("values", [])),
    )
