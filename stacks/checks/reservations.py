"""Reserved nodes: which reservation each pool names, and how far down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stacks.checks.candidate import Candidate
from stacks.cloud import PLACEHOLDER_RESERVATION
from stacks.pools import Pool
from stacks.problems import Problem, touches
from stacks.reservations import BLOCK, SUB_BLOCK, all_named, reservation_of, reservation_parts, reservation_path
from stacks.rows import HardwareRow

__all__ = ["CHECKS", "reservation_form"]

_DOCS = "GKE docs, consuming reservations"


def reservation_form(row: HardwareRow) -> str:
    """How the reservation of a machine type is written."""
    form = "projects/<project>/reservations/<name>"
    if row.gke.reservation_scope == "sub_block":
        form += f"{BLOCK}<block>{SUB_BLOCK}<sub-block>"
    return form


def _judged(c: Candidate) -> list[Pool]:
    """Pools whose kind of provisioning is right; of others that has been said."""
    return [
        pool
        for pool in c.pools
        if pool.plan.provisioning.kind in pool.row.gke.provisioning
        and not touches(f"{pool.path}.provisioning", c.set_aside)
    ]


def named(c: Candidate) -> Iterator[Problem]:
    """Reserved nodes come from a reservation, and from one NVLink domain of it where the machine has such."""
    setting = c.settings.get("reservation")
    for pool in _judged(c):
        name, form, path = reservation_of(setting, pool), reservation_form(pool.row), reservation_path(setting, pool)
        if pool.reserved and name is None:
            yield Problem(
                rule="reservation-missing",
                path=path,
                why="the nodes come from a reservation, and none is named; GKE would create nothing, or take another",
                allowed=form,
                remedy=f"pulumi config set {'--path ' if '.' in path else ''}beamline:{path} {form}",
                source=_DOCS,
            )
        if name is not None and SUB_BLOCK in form and SUB_BLOCK not in name:
            yield Problem(
                rule="reservation-scope",
                path=path,
                value=name,
                why=f"one NVLink domain of {pool.row.machine_type} is one sub-block; nodes of several cannot reach "
                "each other over NVLink",
                allowed=form,
                remedy="name the sub-block: gcloud beta compute reservations sub-blocks list",
                source=pool.row.gke.source,
            )


def used(c: Candidate) -> Iterator[Problem]:
    """A reservation that no pool takes would do nothing."""
    setting, judged = c.settings.get("reservation"), _judged(c)
    if isinstance(setting, Mapping):
        yield from _by_pool(c, setting, judged)
    elif setting is not None and len(judged) == len(c.pools) and not any(pool.reserved for pool in c.pools):
        kinds = ", ".join(dict.fromkeys(pool.plan.provisioning.kind for pool in c.pools))
        key = f"{c.serving_pools[0].path}.provisioning.kind"
        yield Problem(
            rule="reservation-not-used",
            path="reservation",
            value=setting,
            why=f"the nodes are {kinds}, so this would do nothing",
            allowed=f"null, or {key}: reservation",
            remedy=f"remove it, or set overrides.{key} to reservation",
            source=_DOCS,
        )


def _by_pool(c: Candidate, setting: Mapping[str, str], judged: list[Pool]) -> Iterator[Problem]:
    pools = {pool.name: pool for pool in c.pools}
    for name, value in setting.items():
        pool = pools.get(name)
        if pool is None and not touches("accelerator_pools", c.set_aside):
            yield Problem(
                rule="reservation-unknown-pool",
                path=f"reservation.{name}",
                value=value,
                why="the stack has no accelerator pool of this name, so this would do nothing",
                allowed=", ".join(pools),
                remedy="remove it, or name one of the pools",
                source=_DOCS,
            )
        elif pool in judged and not pool.reserved:
            yield Problem(
                rule="reservation-not-used",
                path=f"reservation.{name}",
                value=value,
                why=f"the nodes of {name} are {pool.plan.provisioning.kind}, so this would do nothing",
                allowed=f"no line for {name}, or {pool.path}.provisioning.kind: reservation",
                remedy=f"remove it, or set overrides.{pool.path}.provisioning.kind to reservation",
                source=_DOCS,
            )


def _by_parts(c: Candidate) -> dict[tuple[str, str, str, str], list[Pool]]:
    """Every reservation, or part of one, with the pools that take nodes of it; however each of them writes it."""
    found: dict[tuple[str, str, str, str], list[Pool]] = {}
    for pool in c.pools:
        name = reservation_of(c.settings.get("reservation"), pool)
        if name is not None:
            found.setdefault(reservation_parts(name, c.settings.get("project") or ""), []).append(pool)
    return found


def one_machine_type(c: Candidate) -> Iterator[Problem]:
    """A reservation, with all its blocks, is of one machine type: pools of another would get no node of it."""
    setting, project = c.settings.get("reservation"), c.settings.get("project") or ""
    first: dict[tuple[str, str], Pool] = {}
    for pool in _judged(c):
        name = reservation_of(setting, pool)
        if name is None or touches(f"{pool.path}.machine_type", c.set_aside):
            continue
        owner, reservation, *_ = reservation_parts(name, project)
        other = first.setdefault((owner, reservation), pool)
        if other.plan.machine_type != pool.plan.machine_type:
            yield Problem(
                rule="reservation-shared",
                path=reservation_path(setting, pool),
                value=name,
                why=f"a reservation is of one machine type; {other.name} takes {other.plan.machine_type} of this one, "
                f"and {pool.name} {pool.plan.machine_type}",
                allowed="a reservation for each machine type: {pool: reservation}",
                remedy=f"name another reservation for {pool.name}: beamline:reservation takes {{pool: reservation}}",
                source="Compute Engine API, reservations: specificReservation.instanceProperties.machineType",
            )


def sub_block_size(c: Candidate) -> Iterator[Problem]:
    """Pools that share a sub-block share its hosts."""
    setting = c.settings.get("reservation")
    for (*_, sub_block), pools in _by_parts(c).items():
        names, nodes = " and ".join(pool.name for pool in pools), sum(pool.plan.nodes for pool in pools)
        limit = min(pool.row.fabric.nvlink_domain_nodes for pool in pools)
        if sub_block and len(pools) > 1 and 1 < limit < nodes:
            yield Problem(
                rule="sub-block-nodes",
                path=reservation_path(setting, pools[-1]),
                value=reservation_of(setting, pools[-1]),
                why=f"{names} take {nodes} nodes of one sub-block, which has {limit}",
                allowed=f"pools that together have up to {limit} nodes, or a sub-block for each of them",
                remedy="name another sub-block for one of them: beamline:reservation takes {pool: reservation}",
                source=pools[0].row.fabric.source,
            )


def owner(c: Candidate) -> Iterator[Problem]:
    """GKE consumes a part of a reservation only in the project that owns it."""
    project = c.settings.get("project")
    for path, name in all_named(c.settings.get("reservation")).items():
        parts = name.split("/")
        if PLACEHOLDER_RESERVATION in parts:
            continue  # not the user's own, which is said elsewhere
        if BLOCK in name and parts[0] == "projects" and project and parts[1] != project:
            yield Problem(
                rule="reservation-owner",
                path=path,
                value=name,
                why=f"the block is of a reservation in project {parts[1]}; GKE consumes no blocks of shared "
                "reservations",
                allowed=f"a reservation in {project}",
                remedy="run the stack in the project that owns the reservation, or name one of this project",
                source="Cluster Toolkit v1.95.0, reservation preconditions of its GKE node pool",
            )


CHECKS = (named, used, one_machine_type, sub_block_size, owner)
