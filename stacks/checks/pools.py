"""Accelerator pools beside each other: what they must have in common, and what moving pods between them takes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from stacks.checks.candidate import Candidate
from stacks.problems import Problem
from stacks.rows import DynamoRelease
from stacks.sharing import cluster_conflict
from stacks.spec import LocalSsd
from stacks.wording import some

__all__ = ["CHECKS"]


def same_cluster(c: Candidate) -> Iterator[Problem]:
    """Some settings of a cluster are of all its nodes: machines that need them different cannot share one."""
    for one, other in combinations(c.pools, 2):
        reason = cluster_conflict(one.row, other.row)
        if reason:
            yield Problem(
                rule="pools-share-cluster",
                path=f"{other.path}.machine_type",
                value=other.plan.machine_type,
                why=f"{one.name} and {other.name} are in one cluster, and {reason}",
                allowed=f"machine types that can share a cluster with {one.plan.machine_type}",
                remedy="give one of the pools a stack, and so a cluster, of its own",
                source=other.row.gke.source,
            )


def serving_alike(c: Candidate) -> Iterator[Problem]:
    """Engine pods are one workload: one set of flags and one size for every node they may be placed on."""
    first, *others = c.serving_pools
    for pool in others:
        for key, (wanted, found) in first.differences(pool).items():
            yield Problem(
                rule="serving-pools-differ",
                path=f"{pool.path}.{key}",
                value=found,
                why=f"engine pods are one workload with one set of flags and one size, and {first.name}, which "
                f"serves too, has {wanted}",
                allowed=str(wanted),
                remedy="make the serving pools alike, or set use: standby until the other one is drained",
                source="stacks/pools.py",
            )


def standby_prepared(c: Candidate) -> Iterator[Problem]:
    """Weights and file systems are put on nodes as the serving pools need them: others get theirs when they serve."""
    first = c.serving_pools[0]
    if not isinstance(c.preset.model.storage, LocalSsd) and first.plan.local_ssd_mode != "raw_block":
        return
    for pool in c.pools:
        differ = first.differences(pool)
        if pool.plan.use == "standby" and differ:
            told = " and ".join(f"its {key} is {found}, not {wanted}" for key, (wanted, found) in differ.items())
            yield Problem(
                rule="standby-not-prepared",
                path=f"{pool.path}.use",
                value="standby",
                why=f"nothing is put on the local SSDs of {pool.name} while it stands by: {told} as that of "
                f"{first.name}, which serves",
                allowed=f"standby; with the machine type and local SSDs of {first.name} it is made ready, too",
                remedy="expect its nodes to get their weights when it serves, before any pod is moved",
                source="manifests/placement.py",
                severity="note",
            )


def one_domain(c: Candidate) -> Iterator[Problem]:
    """Pods that share memory over NVLink are in one NVLink domain, which is one pool."""
    transport, serving = c.rows.transport, c.serving_pools
    shares = transport is not None and (transport.compute_domain or c.derived.nodes_per_replica > 1)
    if transport is None or not shares or len(serving) == 1:
        return
    yield Problem(
        rule="nvlink-domain-pools",
        path=f"{serving[1].path}.use",
        value="serving",
        why=f"{transport.name} joins pods over NVLink, and an NVLink domain is one pool: pods on "
        f"{' and '.join(pool.name for pool in serving)} could not reach each other",
        allowed="one serving pool with this transport; others standby",
        remedy="make a stack for each NVLink domain, or choose a serving.transport that needs none",
        source=transport.source,
    )


def drain_within_domain(c: Candidate) -> Iterator[Problem]:
    """Old and new pods of a drain are in two NVLink domains: only replicas that share nothing between them can be."""
    transport, chosen = c.rows.transport, c.preset.serving.transport
    if transport is None or not transport.compute_domain:
        return
    if isinstance(c.rows.release, DynamoRelease):
        why = "under Dynamo all workers are in one NVLink domain: a worker on the new pool would stay Pending while "
        why += "others are on the old one"
    elif chosen and chosen.compute_domain_nodes:
        nodes = some(chosen.compute_domain_nodes, "node")
        why = f"the ComputeDomain waits for {nodes}, and while a pool is drained pods are on those of two"
    else:
        return
    for pool in c.pools:
        if pool.drains:
            yield Problem(
                rule="nvlink-domain-drain",
                path=f"{pool.path}.use",
                value="draining",
                why=why,
                allowed="serving or standby",
                remedy="bring up a second stack on the other NVLink domain, and take this one down when it serves"
                if isinstance(c.rows.release, DynamoRelease)
                else "leave serving.transport.compute_domain_nodes out: the domain then grows with its pods",
                source=transport.source,
            )


def drain_capacity(c: Candidate) -> Iterator[Problem]:
    """What is lost while pods move: nothing with a pod too many, one replica where the operator cannot do that."""
    draining = [pool for pool in c.pools if pool.drains]
    if not draining:
        return
    if isinstance(c.rows.release, DynamoRelease):
        yield Problem(
            rule="drain-without-surge",
            path=f"{draining[0].path}.use",
            value="draining",
            why="Dynamo's operator ends a worker before it starts its successor: capacity falls by one replica at a "
            f"time while {some(c.derived.replicas, 'replica')} move"
            + (", to nothing for as long as an engine takes to start" if c.derived.replicas == 1 else ""),
            allowed="a drain at a time when the rest is enough",
            remedy="wait for a quiet hour, or bring up a second stack and move clients over",
            source=c.rows.release.source,
            severity="warning",
        )
        return
    if c.spare_replicas == 0:
        yield Problem(
            rule="drain-room",
            path=f"{draining[0].path}.use",
            value="draining",
            why=f"the serving pools have room for {some(c.derived.replicas, 'replica')} and no more: pods that are on "
            "them already are replaced as well, and any further change of the pods while a pool drains replaces all of "
            "them; successors start before predecessors end, find no room, and the update stops",
            allowed="a drain onto pools that stood by until now and nothing else changed before it is over, or pools "
            "with a replica's room to spare",
            remedy="change nothing else until the drained pool is removed; if the serving pools serve already, add a "
            "node to one of them first",
            source="Kubernetes docs, Deployments: maxSurge",
            severity="warning",
        )


CHECKS = (same_cluster, serving_alike, standby_prepared, one_domain, drain_within_domain, drain_capacity)
