"""What of the stack exists already: what it holds need not be free once more."""

from __future__ import annotations

from dataclasses import dataclass

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


def look_applied(target: Target, world: World) -> Applied:
    """Ask for the cluster and its pools; the number is what the pools were made or resized to."""
    name = f"projects/{target.project}/locations/{target.region}/clusters/{target.cluster_name}"
    try:
        answer = world.google.call("container", "projects.locations.clusters.get", name=name)
    except NotFoundError:
        return Applied()
    pools = {pool["name"]: int(pool.get("initialNodeCount", 0)) for pool in answer.get("nodePools", [])}
    spec = target.spec
    return Applied(
        cluster=True,
        accelerator_nodes=pools.get(spec.accelerator_pool_name, 0),
        system_nodes=pools.get(spec.system_pool_name, 0),
    )
