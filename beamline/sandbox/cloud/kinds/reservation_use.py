"""What GKE says about the reservation a pool names: whether it is there, is for this machine, and has room.

Words: the 404 is GoogleCloudPlatform/cluster-toolkit#5043's (2025-12), the 429 GoogleCloudPlatform/gsutil#1000's
(2020), which GKE also gives for machines of another kind than the reserved; brackets are the simulation's.
"""

from collections.abc import Mapping
from typing import Any

from beamline.sandbox.cloud.capacity import pool_reservation
from beamline.sandbox.cloud.errors import CloudError, bad_request
from beamline.sandbox.cloud.inventory import Reservation, read_inventory
from beamline.sandbox.cloud.kinds.node_configs import DEFAULT_MACHINE
from beamline.sandbox.cloud.kinds.pool_sizes import nodes_per_zone
from beamline.sandbox.cloud.ledger import Record
from beamline.sandbox.cloud.machines import machine
from beamline.sandbox.cloud.reservations import reservation_parts
from beamline.sandbox.cloud.simulation import Simulation

__all__ = ["check_reservation"]


def check_reservation(pool: Record, cluster: Record, simulation: Simulation) -> None:
    """Refuse a pool whose reservation cannot serve it. Raises CloudError.

    Hosts that are broken or taken within one sub-block show later: GKE makes the nodes it can (``capacity.py``).
    """
    path = pool_reservation(pool)
    if not path:
        return
    counts = nodes_per_zone(pool.inputs, cluster)
    zone = next(iter(counts))
    name = _machine(pool.inputs)
    found = read_inventory(simulation).reservation(path, name, zone)
    if found is None or (not found.assumed and found.zone not in counts):
        raise _missing(pool, zone, f"it is in {found.zone}" if found else "the project sees none of that name")
    if not found.usable_by(pool.project):
        raise _missing(pool, zone, f"project {found.project} does not share it with {pool.project}")
    _check_maintenance(pool, zone, counts, found)
    if found.assumed:
        return
    _check_parts(pool, zone, path, found)
    wanted, taken = sum(counts.values()), _taken(pool, found, simulation)
    if found.machine_type != name:
        raise _insufficient(pool, zone, wanted, wanted, f"it is of machine type {found.machine_type}")
    if wanted > found.count - taken:
        raise _insufficient(
            pool, zone, wanted, wanted - max(0, found.count - taken), f"it has {found.count}, {taken} of them in use"
        )


def _check_maintenance(pool: Record, zone: str, counts: Mapping[str, int], found: Reservation) -> None:
    """Hosts that were reserved for PERIODIC maintenance are others than the rest."""
    policy = (pool.inputs["nodeConfig"].get("hostMaintenancePolicy")) or {}
    wanted = policy.get("maintenanceInterval") == "PERIODIC"
    if wanted != (found.maintenance_interval == "PERIODIC"):
        interval = found.maintenance_interval or "not PERIODIC"
        nodes = sum(counts.values())
        raise _insufficient(pool, zone, nodes, nodes, f"the maintenance interval of its machines is {interval}")


def _check_parts(pool: Record, zone: str, path: str, found: Reservation) -> None:
    _, _, block, sub_block = reservation_parts(path)
    if block and found.block(block) is None:
        raise _missing(pool, zone, f"it has the blocks {', '.join(b.name for b in found.blocks) or 'of no name'}")
    if sub_block and found.sub_block(block, sub_block) is None:
        parts = [part.name for each in found.blocks if each.name == block for part in each.sub_blocks]
        raise _missing(pool, zone, f"block {block} has the sub-blocks {', '.join(parts)}")
    made = machine(_machine(pool.inputs))
    if made and made.family.nvlink_domain and found.blocks and not sub_block:
        raise bad_request(
            f"{path} is no sub-block: the nodes of an NVLink domain lie in one, and the simulation does not choose: "
            "name it by /reservationBlocks/BLOCK/reservationSubBlocks/SUB_BLOCK"
        )


def _taken(pool: Record, found: Reservation, simulation: Simulation) -> int:
    """Count the machines of a reservation that other pools have asked for, by the ledger."""
    total = 0
    for other in simulation.ledger.of_type(pool.type):
        cluster = simulation.ledger.find("gcp:container/cluster:Cluster", other.id.rpartition("/nodePools/")[0])
        same = reservation_parts(pool_reservation(other))[:2] == (found.project, found.name)
        if other.id != pool.id and cluster and same:
            total += sum(nodes_per_zone(other.inputs, cluster).values())
    return total


def _named(pool: Record) -> str:
    return str(pool.inputs["nodeConfig"]["reservationAffinity"]["values"][0])


def _missing(pool: Record, zone: str, why: str) -> CloudError:
    return CloudError(
        f'googleapi: Error 404: Google Compute Engine: reservation "{_named(pool)}" not found for node pool '
        f'"{pool.name}" at zone "{zone}". ({why})'
    )


def _insufficient(pool: Record, zone: str, wanted: int, short: int, why: str) -> CloudError:
    return CloudError(
        "googleapi: Error 429: Reservation does not have enough resources for the request: specific reservation "
        f'"{_named(pool)}" is insufficient for node pool "{pool.name}" at zone "{zone}": required {wanted} and short '
        f"of {short} VM count of machine type {_machine(pool.inputs)}. ({why})"
    )


def _machine(inputs: Mapping[str, Any]) -> str:
    return str((inputs.get("nodeConfig") or {}).get("machineType", DEFAULT_MACHINE))
