"""What Google says of the reservations that a stack names: their machines, their users, the health of their hosts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from beamline.preflight.checks.applied import Applied, look_applied
from beamline.preflight.google import NotFoundError
from beamline.preflight.target import Target
from beamline.preflight.world import World
from stacks.reservations import lies_within, reservation_parts

__all__ = ["Part", "Reserved", "healthy_hosts", "look_reservations", "own_nodes"]

_HEALTHY, _DEGRADED = "HEALTHY", "DEGRADED"


@dataclass(frozen=True)
class Part:
    """A block or sub-block. ``healthy`` hosts are None where Google does not say how many, ``health`` is its status."""

    what: str
    name: str
    count: int = 0
    in_use: int = 0
    healthy: int | None = None
    health: str = ""
    sub_blocks: tuple[int, int] | None = None
    """Healthy and degraded sub-blocks: all that Google says of a block."""
    exists: bool = True


@dataclass(frozen=True)
class Reserved:
    """The reservation. ``zones`` are others that have one of the name.

    ``own`` nodes of the stack's pool are in use in what the stack names.
    """

    exists: bool = True
    status: str = "READY"
    machine_type: str = ""
    count: int = 0
    in_use: int = 0
    specific: bool = True
    owner: str = ""
    share_type: str = ""
    shared_with: frozenset[str] = frozenset()
    part: Part | None = None
    zones: tuple[str, ...] = ()
    own: int = 0


def look_reservations(target: Target, world: World) -> dict[str, Reserved]:
    """Ask for each of them by the name the stack gives it."""
    return {name: _looked_at(target, world, name) for name in target.reservations}


def _looked_at(target: Target, world: World, text: str) -> Reserved:
    owner, name, block, sub_block = reservation_parts(text, target.project)
    call = world.google.call
    try:
        found = call("compute", "reservations.get", project=owner, zone=target.zone, reservation=name)
    except NotFoundError:
        return Reserved(exists=False, owner=owner, zones=_zones(world, owner, name))
    specific = found.get("specificReservation", {})
    sharing = found.get("shareSettings", {})
    return Reserved(
        status=found.get("status", ""),
        machine_type=specific.get("instanceProperties", {}).get("machineType", ""),
        count=int(specific.get("count", 0)),
        in_use=int(specific.get("inUseCount", 0)),
        specific=bool(found.get("specificReservationRequired")),
        owner=owner,
        share_type=sharing.get("shareType", ""),
        shared_with=frozenset(sharing.get("projectMap", {})),
        part=_part(target, world, owner, name, block, sub_block) if block else None,
        own=own_nodes(target, text, look_applied(target, world)),
    )


def own_nodes(target: Target, text: str, applied: Applied) -> int:
    """Return the nodes of those pools whose nodes are all in what the stack names, or in a part of it."""
    held = [pool for pool in applied.pools.values() if pool.reservations]
    return sum(
        pool.nodes for pool in held if all(lies_within(value, text, target.project) for value in pool.reservations)
    )


def _zones(world: World, owner: str, name: str) -> tuple[str, ...]:
    pages = world.google.pages("compute", "reservations.aggregatedList", project=owner, filter=f'name = "{name}"')
    items = [item for page in pages for item in page.get("items", {}).items()]
    return tuple(sorted(scope.removeprefix("zones/") for scope, found in items if found.get("reservations")))


def _part(target: Target, world: World, owner: str, name: str, block: str, sub_block: str) -> Part:
    what, part = ("sub-block", sub_block) if sub_block else ("block", block)
    place = {"project": owner, "zone": target.zone}
    try:
        if sub_block:
            answer = world.google.call(
                "compute",
                "reservationSubBlocks.get",
                **place,
                parentName=f"reservations/{name}/reservationBlocks/{block}",
                reservationSubBlock=sub_block,
            )
        else:
            answer = world.google.call(
                "compute", "reservationBlocks.get", **place, reservation=name, reservationBlock=block
            )
    except NotFoundError:
        return Part(what, part, exists=False)
    return _read_part(what, part, answer["resource"])


def _read_part(what: str, name: str, found: Mapping[str, Any]) -> Part:
    """Read a part; a number that is nothing may be left out, so the sick ones say as much as the healthy ones."""
    health, count = found.get("healthInfo", {}), int(found.get("count", 0))
    healthy = health.get("healthyHostCount")
    if healthy is None and "degradedHostCount" in health:
        healthy = count - int(health["degradedHostCount"])
    parts = (int(health.get("healthySubBlockCount", 0)), int(health.get("degradedSubBlockCount", 0)))
    return Part(
        what,
        name,
        count=count,
        in_use=int(found.get("inUseCount", 0)),
        healthy=None if healthy is None else int(healthy),
        health=health.get("healthStatus", ""),
        sub_blocks=parts if sum(parts) else None,
    )


def healthy_hosts(part: Part) -> int | None:
    """Return the hosts that are healthy, None when that cannot be told.

    Of a block only its sub-blocks are told: those that are not degraded count with all their hosts, the others with
    none, and they are of one size.
    """
    if part.healthy is not None:
        return part.healthy
    if part.health == _HEALTHY:
        return part.count
    if part.sub_blocks is not None and part.health:
        return part.count * part.sub_blocks[0] // sum(part.sub_blocks)
    return 0 if part.health == _DEGRADED else None
