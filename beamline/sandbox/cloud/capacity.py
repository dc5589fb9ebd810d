"""How many hosts of a reservation's sub-block a node pool can have.

A sub-block is one NVLink domain; all pools that name it share its hosts. How many it has is the inventory's; a
reservation that is not listed there is whole, and named without a sub-block stands for one.
"""

from dataclasses import dataclass

from beamline.sandbox.cloud.errors import CloudError
from beamline.sandbox.cloud.faults import read_faults
from beamline.sandbox.cloud.inventory import read_inventory
from beamline.sandbox.cloud.ledger import Record, State
from beamline.sandbox.cloud.machines import machine
from beamline.sandbox.cloud.names import last
from beamline.sandbox.cloud.nodes import node_names
from beamline.sandbox.cloud.reservations import reservation_parts, reservation_path
from beamline.sandbox.cloud.simulation import Simulation

__all__ = ["SubBlock", "pool_reservation", "sub_block_of"]


@dataclass(frozen=True)
class SubBlock:
    """The hosts of one NVLink domain, as one pool sees them."""

    path: str
    hosts: int
    healthy: int
    others: dict[str, int]
    """Other pools that have nodes here, by name, and how many."""

    @property
    def free(self) -> int:
        """Hosts that this pool can have."""
        return max(0, self.healthy - sum(self.others.values()))

    def stockout(self, expected: int, running: int) -> CloudError:
        """Return what GKE says when hosts are missing, and why.

        GKE's words: "Not all instances running in IGM ... Expected 18, running 16. [GCE_STOCKOUT]: 2 nodes cannot be
        created due to lack of capacity." (an operator's degraded GB300 sub-block, 2026-07). The bracket is ours.
        """
        taken = "".join(f", {count} in use by node pool {name}" for name, count in self.others.items())
        count = expected - running
        missing = f"{count} node{'s' * (count != 1)}"
        return CloudError(
            f"Not all instances running in IGM. Expected {expected}, running {running}. Current errors: "
            f"[GCE_STOCKOUT]: {missing} cannot be created due to lack of capacity in your reservation. "
            f"({self.path} has {self.hosts} hosts: {self.healthy} healthy{taken})"
        )


def pool_reservation(pool: Record) -> str:
    """Return the path of the reservation a pool consumes; empty when it names none."""
    affinity = (pool.inputs.get("nodeConfig") or {}).get("reservationAffinity") or {}
    values = affinity.get("values") or []
    named = affinity.get("consumeReservationType") == "SPECIFIC_RESERVATION" and values
    return reservation_path(values[0], pool.project) if named else ""


def sub_block_of(pool: Record, simulation: Simulation) -> SubBlock | None:
    """Return the sub-block of a pool; None when its machines have no NVLink domain across hosts. Raises CloudError."""
    made = machine((pool.inputs.get("nodeConfig") or {}).get("machineType", ""))
    path = pool_reservation(pool)
    if made is None or made.family.nvlink_domain is None or not path:
        return None
    _, _, block, name = reservation_parts(path)
    reserved = read_inventory(simulation).reservation(path)
    listed = reserved.sub_block(block, name) if reserved else None
    hosts = listed.hosts if listed else made.family.nvlink_domain.hosts
    healthy = min(
        listed.healthy_hosts if listed else hosts, read_faults(simulation.folder).healthy_hosts.get(path, hosts)
    )
    others, came_before = {}, True
    for other in simulation.ledger.of_type(pool.type):
        if other.id == pool.id:
            came_before = False
        elif pool_reservation(other) == path and (count := _hosts_of(other, simulation, came_before=came_before)):
            others[last(other.id)] = count
    return SubBlock(path, hosts, healthy, others)


def _hosts_of(pool: Record, simulation: Simulation, *, came_before: bool) -> int:
    """Count the hosts a pool has, and those it is about to take if it came before the one that asks."""
    present = len(node_names(simulation, pool.id))
    taking = came_before and pool.state is State.WORKING
    return max(present, pool.inputs.get("nodeCount", pool.inputs.get("initialNodeCount", 1)) if taking else 0)
