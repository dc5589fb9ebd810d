"""Whether the hosts of a reservation are maintained as the pool wants it. Google says so in its beta API alone.

A pool and its reservation agree: machines that were reserved for PERIODIC maintenance are another kind than those that
were not, and a pool gets none of the other kind.
"""

from __future__ import annotations

from collections.abc import Mapping

from beamline.preflight.findings import Check, Finding
from beamline.preflight.google import NotFoundError, UnansweredError
from beamline.preflight.target import Target
from beamline.preflight.world import World
from stacks.pools import Pool
from stacks.reservations import reservation_parts
from stacks.spec import Periodic

__all__ = ["HOST_MAINTENANCE", "judge_host_maintenance"]

_PERIODIC = "PERIODIC"


def _asked_about(target: Target) -> dict[str, tuple[Pool, ...]]:
    """Reservations of machines that can be had either way, and those of pools that say so; with their pools."""
    return {
        name: pools
        for name, pools in target.reservations.items()
        if any(pool.row.gke.periodic_maintenance or _wants_periodic(pool) for pool in pools)
    }


def _wants_periodic(pool: Pool) -> bool:
    return isinstance(pool.plan.host_maintenance, Periodic)


def _look(target: Target, world: World) -> dict[str, str]:
    return {text: _interval(target, world, text) for text in _asked_about(target)}


def _interval(target: Target, world: World, text: str) -> str:
    owner, name, *_ = reservation_parts(text, target.project)
    place = {"project": owner, "zone": target.zone, "reservation": name}
    try:
        found = world.google.call("compute", "reservations.get", version="beta", **place)
    except NotFoundError as error:
        raise UnansweredError(f"there is no reservation {name}") from error
    properties = found.get("specificReservation", {}).get("instanceProperties", {})
    return str(properties.get("maintenanceInterval", ""))


def judge_host_maintenance(target: Target, intervals: Mapping[str, str]) -> list[Finding]:
    """Compare what each reservation was made for with what its pools ask for."""
    asked = _asked_about(target)
    return [_judged(pool, name, interval) for name, interval in intervals.items() for pool in asked[name]]


def _judged(pool: Pool, name: str, interval: str) -> Finding:
    asked = f"the hosts of reservation {name} are maintained as pool {pool.name} wants it"
    found = f"its maintenanceInterval is {interval}" if interval else "it has no maintenanceInterval"
    wants = _wants_periodic(pool)
    if (interval == _PERIODIC) == wants:
        return Finding(asked, found, path=f"{pool.path}.host_maintenance")
    return Finding.problem(
        "reservation-maintenance",
        f"{pool.path}.host_maintenance",
        asked,
        found=found,
        needed=_PERIODIC if wants else "none, or one that is not PERIODIC",
        remedy="leave host_maintenance out, or name a reservation that was made for it"
        if wants
        else f"set {pool.path}.host_maintenance.kind to periodic",
    )


HOST_MAINTENANCE: Check[dict[str, str]] = Check(
    id="host-maintenance",
    asks="a reservation's hosts are maintained as the pool wants it",
    source="Compute Engine API, beta, reservations.get; xpk: the pool's interval is its reservation's",
    rules=("reservation-maintenance",),
    look=_look,
    judge=judge_host_maintenance,
    applies=lambda target: bool(_asked_about(target)),
)
