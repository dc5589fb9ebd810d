"""Whether the reservation is there, is the project's to use, and has enough healthy hosts of the machine type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from beamline.preflight.checks.reserved import Part, Reserved, healthy_hosts, look_reservations
from beamline.preflight.findings import Check, Finding, Standing
from beamline.preflight.target import Target

__all__ = ["RESERVATION", "judge_reservations"]


def _hosts(part: Part) -> str:
    """Return what Google says of the health of a part's hosts, in words."""
    if part.healthy is not None:
        return f"{part.healthy} of {part.count} hosts of {part.what} {part.name} are healthy ({part.health})"
    if part.sub_blocks is not None:
        healthy, all_of_them = part.sub_blocks[0], sum(part.sub_blocks)
        return f"{healthy} of {all_of_them} sub-blocks of {part.what} {part.name} are healthy ({part.health})"
    return f"{part.what} {part.name} is {part.health}, and it is not told how many of its hosts are healthy"


def judge_reservations(target: Target, reserved: Mapping[str, Reserved]) -> list[Finding]:
    """Tell of each reservation everything that is wrong with it, or that nothing is."""
    return [finding for name, found in reserved.items() for finding in _judged(target, name, found)]


def _judged(target: Target, name: str, reserved: Reserved) -> list[Finding]:
    if not reserved.exists:
        return [_missing(target, name, reserved)]
    problems = [*_unusable(target, name, reserved), *_too_small(target, name, reserved)]
    if problems:
        return problems
    part = reserved.part
    free = f"{reserved.count - reserved.in_use} of {reserved.count} machines free"
    if part:
        healthy = healthy_hosts(part)
        if healthy is None:
            return [_health_not_told(name, part)]
        free = f"{part.what} {part.name}: {part.count - part.in_use} of {part.count} hosts free, {healthy} healthy"
    own = f"; {reserved.own} nodes of the stack are in it" if reserved.own else ""
    return [Finding(_asked(name), free + own, f"{_nodes(target, name)} nodes", path="reservation")]


def _health_not_told(name: str, part: Part) -> Finding:
    return Finding(
        _asked(name),
        f"it is not told whether the hosts of {part.what} {part.name} are healthy",
        path="reservation",
        standing=Standing.UNKNOWN,
        remedy="ask again, or gcloud compute reservations sub-blocks list shows the health of each",
    )


def _asked(name: str) -> str:
    return f"reservation {name} has room for the pool"


def _nodes(target: Target, name: str) -> int:
    """Nodes of all pools that take theirs from it, or from a part of it."""
    return sum(pool.plan.nodes for pool in target.takers(name))


def _key(target: Target, name: str) -> str:
    """Where to make it fewer."""
    return " or ".join(f"{pool.path}.nodes" for pool in target.takers(name))


def _problem(name: str, rule: str, *, found: str, needed: str, remedy: str) -> Finding:
    return Finding.problem(rule, "reservation", _asked(name), found=found, needed=needed, remedy=remedy)


def _missing(target: Target, name: str, reserved: Reserved) -> Finding:
    if reserved.zones:
        return _problem(
            name,
            "reservation-zone",
            found=f"it is in {', '.join(reserved.zones)}, not in {target.zone}",
            needed=f"a reservation in {target.zone}",
            remedy="set zone, and region, to the reservation's",
        )
    return _problem(
        name,
        "reservation-missing",
        found=f"project {reserved.owner} shows no reservation of this name in any zone",
        needed="a reservation that is there, with its owner's project in its name if it is another's",
        remedy="gcloud compute reservations list --project "
        f"{reserved.owner} shows those there are; pulumi config set beamline:reservation NAME",
    )


def _unusable(target: Target, name: str, reserved: Reserved) -> Iterator[Finding]:
    wanted = dict.fromkeys(pool.plan.machine_type for pool in target.reservations[name])
    if reserved.status and reserved.status != "READY":
        yield _problem(
            name,
            "reservation-not-ready",
            found=f"it is {reserved.status}",
            needed="READY",
            remedy="wait for it, or ask your account team",
        )
    for machine_type in wanted:
        if reserved.machine_type == machine_type:
            continue
        yield _problem(
            name,
            "reservation-machine-type",
            found=f"it holds {reserved.machine_type or 'no machines of one type'}",
            needed=machine_type,
            remedy="name a reservation of the pool's machine type",
        )
    if not reserved.specific:
        yield _problem(
            name,
            "reservation-not-specific",
            found="any machine of the project may take its capacity (specificReservationRequired is false)",
            needed="a reservation that only machines use that name it",
            remedy="make the reservation with --require-specific-reservation; it cannot be changed later",
        )
    shared = target.project in reserved.shared_with or reserved.share_type == "ORGANIZATION"
    if reserved.owner != target.project and not shared:
        yield _problem(
            name,
            "reservation-not-shared",
            found=f"project {reserved.owner} shares it with {', '.join(sorted(reserved.shared_with)) or 'nobody'}",
            needed=f"a reservation shared with {target.project}",
            remedy="gcloud compute reservations update NAME --project "
            f"{reserved.owner} --zone {target.zone} --add-share-with={target.project}",
        )


def _too_small(target: Target, name: str, reserved: Reserved) -> Iterator[Finding]:
    part, nodes = reserved.part, _nodes(target, name)
    if part and not part.exists:
        yield _problem(
            name,
            f"reservation-{part.what}-missing",
            found=f"the reservation has no {part.what} {part.name}",
            needed=f"a {part.what} of the reservation",
            remedy="gcloud compute reservations blocks list, and reservations sub-blocks list, show those there are",
        )
        return
    count, in_use = (part.count, part.in_use) if part else (reserved.count, reserved.in_use)
    free = count - in_use + reserved.own
    if free < nodes:
        yield _problem(
            name,
            "reservation-too-small",
            found=f"{free} of {count} machines are free for the pool",
            needed=f"{nodes} nodes",
            remedy=f"make {_key(target, name)} smaller, free machines, or name another part of the reservation",
        )
        return
    healthy = healthy_hosts(part) if part else None
    others = in_use - reserved.own
    if part and healthy is not None and healthy - others < nodes:
        yield _problem(
            name,
            "reservation-unhealthy",
            found=_hosts(part) + (f", and {others} are in use by others" if others else ""),
            needed=f"{nodes} healthy hosts" + (" that nobody else uses" if others else ""),
            remedy=f"make {_key(target, name)} smaller, name another sub-block, or report the hosts to Google",
        )


RESERVATION: Check[dict[str, Reserved]] = Check(
    id="reservation",
    asks="the reservation has room for the pool",
    source="Compute Engine API, reservations.get, reservationSubBlocks.get; AI Hypercomputer docs, A4X Max",
    rules=(
        "reservation-missing",
        "reservation-zone",
        "reservation-not-ready",
        "reservation-machine-type",
        "reservation-not-specific",
        "reservation-not-shared",
        "reservation-block-missing",
        "reservation-sub-block-missing",
        "reservation-too-small",
        "reservation-unhealthy",
    ),
    look=look_reservations,
    judge=judge_reservations,
    applies=lambda target: bool(target.reservations),
)
