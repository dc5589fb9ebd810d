"""Maintenance of the machines under a pool's nodes: what a machine type takes, and what would never happen."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.checks.candidate import Candidate
from stacks.pools import Pool
from stacks.problems import Problem
from stacks.spec import Opportunistic, Periodic
from stacks.wording import some

__all__ = ["CHECKS"]

_DOCS = "GKE API v1beta1, HostMaintenancePolicy"
_RESERVED = "xpk, blueprint_generator.py: the pool's interval is its reservation's; ai-infra-cluster-provisioning #356"


def periodic(c: Candidate) -> Iterator[Problem]:
    """Few machine types are known to take PERIODIC, and only machines that were reserved that way have it."""
    for pool in c.pools:
        if isinstance(pool.plan.host_maintenance, Periodic):
            yield _periodic_pool(pool)


def _periodic_pool(pool: Pool) -> Problem:
    if not pool.row.gke.periodic_maintenance:
        return Problem(
            rule="host-maintenance",
            path=f"{pool.path}.host_maintenance.kind",
            value="periodic",
            why=f"{pool.row.machine_type} is not known to take it: Google plans and announces the maintenance of these "
            "machines by itself, or does it as needed",
            allowed="null, or as_needed",
            remedy="leave host_maintenance out; where Google has told you otherwise, set gke.periodic_maintenance in "
            "the machine's row, with its source",
            source=pool.row.gke.source,
        )
    return Problem(
        rule="host-maintenance-reservation",
        path=f"{pool.path}.host_maintenance.kind",
        value="periodic",
        why="only a reservation that Google made for periodic maintenance has such machines"
        + (
            "; whether this one is, Google says in its beta API alone" if pool.reserved else ", and the pool names none"
        ),
        allowed="a reservation whose maintenanceInterval is PERIODIC",
        remedy="let beamline preflight look"
        if pool.reserved
        else f"set {pool.path}.provisioning.kind to reservation, or leave host_maintenance out",
        source=_RESERVED,
        severity="warning" if pool.reserved else "error",
    )


def opportunistic(c: Candidate) -> Iterator[Problem]:
    """A strategy that waits for idle nodes needs nodes that can be idle, and spared."""
    spare = c.preset.nodes_of("serving") - c.derived.nodes_needed
    for pool in c.pools:
        kind = pool.plan.host_maintenance
        chosen = kind.opportunistic if isinstance(kind, Periodic) else None
        if chosen and chosen.min_nodes >= pool.plan.nodes:
            yield _blocked(pool, chosen)
        elif chosen and pool.serves and spare <= 0:
            yield Problem(
                rule="host-maintenance-never-idle",
                path=f"{pool.path}.host_maintenance.opportunistic",
                why=f"the replicas take all {some(c.derived.nodes_needed, 'node')} that serve, so none is ever idle: "
                "maintenance comes on the announced day all the same, under running requests",
                allowed="null, or more nodes than the replicas take",
                remedy="leave it out, or keep a node to spare",
                source=_DOCS,
                severity="warning",
            )


def _blocked(pool: Pool, chosen: Opportunistic) -> Problem:
    nodes = pool.plan.nodes
    return Problem(
        rule="host-maintenance-blocked",
        path=f"{pool.path}.host_maintenance.opportunistic.min_nodes",
        value=chosen.min_nodes,
        why=f"the pool has {some(nodes, 'node')}: with one in maintenance there are fewer than that, so GKE never "
        "starts one",
        allowed=f"0 to {nodes - 1}",
        remedy="lower it, or leave opportunistic out",
        source=_DOCS,
    )


CHECKS = (periodic, opportunistic)
