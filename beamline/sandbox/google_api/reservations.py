"""Reservations, their blocks and sub-blocks: what the inventory says of them, and what stacks use of them."""

from __future__ import annotations

from typing import Any

from beamline.sandbox.cloud.faults import read_faults
from beamline.sandbox.cloud.inventory import Reservation, ReservedSubBlock
from beamline.sandbox.cloud.kinds.clusters import NODE_POOL
from beamline.sandbox.cloud.machines import machine
from beamline.sandbox.cloud.reservations import reservation_path
from beamline.sandbox.google_api.compute import COMPUTE
from beamline.sandbox.google_api.routes import Call, Route, not_found

__all__ = ["ROUTES"]

_AMPLE = 1000
"""Machines of an assumed reservation whose machine type has no NVLink domain over nodes."""


def _found(call: Call) -> Reservation:
    """Return the reservation a request names; another project's counts as seen here."""
    path = f"projects/{call.parts['owner']}/reservations/{call.parts['reservation']}"
    found = call.inventory.reservation(path, call.assumed_machine_type(path), call.parts["zone"])
    if found is None or found.zone != call.parts["zone"]:
        raise not_found(f"{path.replace('/reservations/', '/zones/' + call.parts['zone'] + '/reservations/')}")
    return found


def _assumed_hosts(found: Reservation) -> int:
    made = machine(found.machine_type)
    return made.family.nvlink_domain.hosts if made and made.family.nvlink_domain else _AMPLE


def _in_use(call: Call, path: str) -> int:
    """Count the nodes of pools whose affinity names the reservation, or a part of it."""
    nodes = 0
    for record in call.simulation.ledger.of_type(NODE_POOL):
        affinity = (record.inputs.get("nodeConfig") or {}).get("reservationAffinity") or {}
        named = [reservation_path(value, call.simulation.project) for value in affinity.get("values") or []]
        if any(f"{name}/".startswith(f"{path}/") for name in named):
            nodes += int(record.inputs.get("nodeCount") or 0)
    return nodes


def _as_json(call: Call, found: Reservation) -> dict[str, Any]:
    count = _assumed_hosts(found) if found.assumed else found.count
    shared = {"shareType": "SPECIFIC_PROJECTS", "projectMap": {name: {"projectId": name} for name in found.shared_with}}
    is_others = found.assumed and found.project != call.simulation.project
    if is_others:
        shared["projectMap"] = {call.simulation.project: {"projectId": call.simulation.project}}
    return {
        "kind": "compute#reservation",
        "name": found.name,
        "zone": found.zone,
        "status": "READY",
        "specificReservationRequired": found.specific,
        "specificReservation": {
            "count": str(count),
            "inUseCount": str(_in_use(call, found.path)),
            "instanceProperties": {"machineType": found.machine_type},
        },
        "shareSettings": shared if shared["projectMap"] else {"shareType": "LOCAL"},
    }


def _reservation(call: Call) -> dict[str, Any]:
    return _as_json(call, _found(call))


def _with_maintenance(call: Call) -> dict[str, Any]:
    """Answer in the beta API, which alone says when the hosts are maintained."""
    found = _found(call)
    answer = _as_json(call, found)
    if found.maintenance_interval:
        properties = answer["specificReservation"]["instanceProperties"]
        properties["maintenanceInterval"] = found.maintenance_interval
    return answer


def _in_all_zones(call: Call) -> dict[str, Any]:
    name = call.filtered(r'name = "([^"]+)"')
    items: dict[str, Any] = {}
    for found in call.inventory.reservations:
        if (found.project, found.name) == (call.parts["owner"], name):
            items.setdefault(f"zones/{found.zone}", {"reservations": []})["reservations"].append(_as_json(call, found))
    return {"kind": "compute#reservationAggregatedList", "items": items}


def _sub_block(call: Call) -> dict[str, Any]:
    found, block, name = _found(call), call.parts["block"], call.parts["sub_block"]
    hosts = _assumed_hosts(found)
    part = ReservedSubBlock(name, hosts, hosts) if found.assumed else found.sub_block(block, name)
    path = f"{found.path}/reservationBlocks/{block}/reservationSubBlocks/{name}"
    if part is None:
        raise not_found(path)
    broken = read_faults(call.simulation.folder).healthy_hosts
    healthy = min(part.healthy_hosts, broken.get(path, part.healthy_hosts))
    return {"resource": _part(call, path, part.hosts, healthy)}


def _block(call: Call) -> dict[str, Any]:
    found, name = _found(call), call.parts["block"]
    path = f"{found.path}/reservationBlocks/{name}"
    block = found.block(name)
    if block is None and not found.assumed:
        raise not_found(path)
    parts = block.sub_blocks if block else ()
    hosts = sum(part.hosts for part in parts) if block else _assumed_hosts(found)
    degraded = sum(part.healthy_hosts < part.hosts for part in parts)
    answer = _part(call, path, hosts, hosts)
    answer["healthInfo"] = {
        "healthStatus": "DEGRADED" if degraded else "HEALTHY",
        "healthySubBlockCount": len(parts) - degraded,
        "degradedSubBlockCount": degraded,
    }
    return {"resource": answer}


def _part(call: Call, path: str, hosts: int, healthy: int) -> dict[str, Any]:
    return {
        "name": path.rpartition("/")[2],
        "status": "READY",
        "count": hosts,
        "inUseCount": _in_use(call, path),
        "healthInfo": {
            "healthStatus": "HEALTHY" if healthy == hosts else "DEGRADED",
            "healthyHostCount": healthy,
            "degradedHostCount": hosts - healthy,
        },
    }


_OWNER = "compute/v1/projects/{owner}"
_ONE = f"{_OWNER}/zones/{{zone}}/reservations/{{reservation}}"
ROUTES = (
    Route("GET", COMPUTE, f"{_OWNER}/aggregated/reservations", "compute.reservations.list", _in_all_zones),
    Route("GET", COMPUTE, _ONE, "compute.reservations.get", _reservation),
    Route("GET", COMPUTE, _ONE.replace("/v1/", "/beta/"), "compute.reservations.get", _with_maintenance),
    Route("GET", COMPUTE, f"{_ONE}/reservationBlocks/{{block}}", "compute.reservationBlocks.get", _block),
    Route(
        "GET",
        COMPUTE,
        f"{_ONE}/reservationBlocks/{{block}}/reservationSubBlocks/{{sub_block}}",
        "compute.reservationSubBlocks.get",
        _sub_block,
    ),
)
