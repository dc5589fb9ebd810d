"""What of the stack exists already: what it holds need not be free once more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from beamline.preflight.google import NotFoundError
from beamline.preflight.target import Target
from beamline.preflight.world import World
from stacks.pools import Pool

__all__ = ["Applied", "AppliedPool", "look_applied"]


@dataclass(frozen=True)
class AppliedPool:
    """An accelerator pool of the stack that is there."""

    nodes: int = 0
    reservations: tuple[str, ...] = ()
    """What its affinity names: a reservation, or a part of one."""


@dataclass(frozen=True)
class Applied:
    """Whether the cluster exists, and how many nodes the stack's own pools have in it."""

    cluster: bool = False
    pools: Mapping[str, AppliedPool] = field(default_factory=dict)
    """The stack's accelerator pools that are there, by the names the stack gives them."""
    system_nodes: int = 0
    version: str = ""
    """Of the control plane."""
    node_versions: tuple[str, ...] = ()
    """Of those of the stack's pools that are there."""
    subnetwork: str = ""
    """Name of the subnet of the cluster's nodes."""

    def missing(self, pool: Pool) -> int:
        """Nodes of a pool that are not there yet; below nothing where it has more than it shall have."""
        found = self.pools.get(pool.name)
        return pool.plan.nodes - (found.nodes if found else 0)


def look_applied(target: Target, world: World) -> Applied:
    """Ask for the cluster and its pools; the number is what the pools were made or resized to."""
    name = f"projects/{target.project}/locations/{target.region}/clusters/{target.cluster_name}"
    try:
        answer = world.google.call("container", "projects.locations.clusters.get", name=name)
    except NotFoundError:
        return Applied()
    there: dict[str, Any] = {pool["name"]: pool for pool in answer.get("nodePools", [])}
    names = {pool.name: target.spec.pool_name(pool) for pool in target.spec.pools}
    accelerators = {name: there[full] for name, full in names.items() if full in there}
    system = there.get(target.spec.system_pool_name, {})
    return Applied(
        cluster=True,
        pools={name: _pool(found) for name, found in accelerators.items()},
        system_nodes=int(system.get("initialNodeCount", 0)),
        version=answer.get("currentMasterVersion", ""),
        node_versions=tuple(pool.get("version", "") for pool in (*accelerators.values(), system) if pool),
        subnetwork=answer.get("subnetwork", ""),
    )


def _pool(found: Mapping[str, Any]) -> AppliedPool:
    affinity = found.get("config", {}).get("reservationAffinity", {})
    return AppliedPool(int(found.get("initialNodeCount", 0)), tuple(affinity.get("values", [])))
