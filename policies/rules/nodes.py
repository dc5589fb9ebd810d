"""Nodes and clusters as they are hardened: no public address, no default account, nothing of the old interfaces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from beamline.engine.graph import Graph, Resource
from policies.objects import OPAQUE, plain, section
from policies.rule import Finding, Rule
from stacks.catalog_files import load_catalog
from stacks.rows import HardwareRow
from stacks.sharing import cluster_conflict

__all__ = ["RULES"]

_POOL = "gcp:container/nodePool:NodePool"
_CLUSTER = "gcp:container/cluster:Cluster"
_SETTINGS: Mapping[tuple[str, ...], tuple[str, str]] = {
    ("metadata", "disable-legacy-endpoints"): ("true", "metadata endpoints of an old version answer without a header"),
    ("workloadMetadataConfig", "mode"): ("GKE_METADATA", "pods could ask for the node's own token"),
    ("kubeletConfig", "insecureKubeletReadonlyPortEnabled"): ("FALSE", "the kubelet would answer anyone on port 10255"),
}
"""Where in a nodeConfig -> what has to stand there, and what happens otherwise."""


def _at(data: Mapping[str, Any], *path: str) -> Any:
    found: Any = data
    for key in path:
        found = section(found).get(key)
    return found


def _described(graph: Graph) -> Iterator[tuple[Resource, Mapping[str, Any]]]:
    """Yield pools and clusters with their inputs as plain data."""
    for resource in graph.resources:
        if resource.type in (_POOL, _CLUSTER):
            yield resource, section(plain(dict(resource.inputs)))


def _named(resource: Resource) -> str:
    return f"{resource.type.rpartition(':')[2]}/{resource.name}"


def _public(graph: Graph) -> Iterator[Finding]:
    for resource, inputs in _described(graph):
        place = "networkConfig" if resource.type == _POOL else "privateClusterConfig"
        if _at(inputs, place, "enablePrivateNodes") not in (True, OPAQUE):
            yield Finding(
                path=f"{_named(resource)}.{place}.enablePrivateNodes",
                urn=resource.urn,
                value=_at(inputs, place, "enablePrivateNodes"),
                detail="its nodes would have public addresses",
                allowed="true",
            )


def _default_account(graph: Graph) -> Iterator[Finding]:
    for resource, inputs in _described(graph):
        account = _at(inputs, "nodeConfig", "serviceAccount")
        if account is None or account == "default" or str(account).endswith("-compute@developer.gserviceaccount.com"):
            yield Finding(
                path=f"{_named(resource)}.nodeConfig.serviceAccount",
                urn=resource.urn,
                value=account,
                detail="its nodes would act as the project's default account",
                allowed="an account of the stack's own",
            )


def _soft(graph: Graph) -> Iterator[Finding]:
    for resource, inputs in _described(graph):
        for path, (wanted, otherwise) in _SETTINGS.items():
            value = _at(inputs, "nodeConfig", *path)
            if value not in (wanted, OPAQUE):
                yield Finding(
                    path=f"{_named(resource)}.nodeConfig.{'.'.join(path)}",
                    urn=resource.urn,
                    value=value,
                    detail=otherwise,
                    allowed=wanted,
                )


def _unshielded(graph: Graph) -> Iterator[Finding]:
    """Bare metal has no virtual TPM, says its row; the whole cluster's switch is off only where it has such nodes."""
    metal = {name for name, row in load_catalog().hardware.items() if not row.gke.shielded_nodes}
    pools = {str(_at(inputs, "nodeConfig", "machineType")) for r, inputs in _described(graph) if r.type == _POOL}
    for resource, inputs in _described(graph):
        if resource.type == _POOL:
            key: tuple[str, ...] = ("nodeConfig", "shieldedInstanceConfig", "enableSecureBoot")
            exempt = _at(inputs, "nodeConfig", "machineType") in metal
        else:
            key, exempt = ("enableShieldedNodes",), bool(pools & metal)
        if not exempt and _at(inputs, *key) not in (True, OPAQUE):
            yield Finding(
                path=f"{_named(resource)}.{'.'.join(key)}",
                urn=resource.urn,
                value=_at(inputs, *key),
                detail="its nodes would not prove what they booted",
                allowed="true",
            )


def _cannot_share(graph: Graph) -> Iterator[Finding]:
    """Settings of a cluster are of all its nodes; which cluster a pool is in may be known only when it is applied."""
    rows, by_cluster = load_catalog().hardware, dict[str, list[tuple[Resource, HardwareRow]]]()
    for resource, inputs in _described(graph):
        row = rows.get(str(_at(inputs, "nodeConfig", "machineType")))
        if resource.type == _POOL and row is not None:
            by_cluster.setdefault(str(_at(inputs, "cluster")), []).append((resource, row))
    for pools in by_cluster.values():
        for (one, first), (other, second) in combinations(pools, 2):
            if reason := cluster_conflict(first, second):
                yield Finding(
                    path=f"{_named(other)}.nodeConfig.machineType",
                    urn=other.urn,
                    value=second.machine_type,
                    detail=f"{_named(one)} is in the same cluster, and {reason}",
                    allowed=f"machine types that can share a cluster with {first.machine_type}",
                )


_HARDENING = "GKE docs, harden your cluster's security"

RULES = (
    Rule(
        id="node-public-address",
        why="whatever listens on a node would listen to the internet",
        remedy="make the nodes private; they reach the internet through Cloud NAT",
        source=_HARDENING,
        find=_public,
    ),
    Rule(
        id="node-default-account",
        why="that account may have far more rights than a node needs, or none",
        remedy="give the nodes a service account with roles/container.defaultNodeServiceAccount",
        source=_HARDENING,
        find=_default_account,
    ),
    Rule(
        id="node-not-hardened",
        why="GKE keeps this open for old workloads, and nothing here needs it",
        remedy="write the value that closes it",
        source=_HARDENING,
        find=_soft,
    ),
    Rule(
        id="node-not-shielded",
        why="a node that was tampered with could join the cluster",
        remedy="switch it on; only machine types without a virtual TPM go without",
        source=_HARDENING,
        find=_unshielded,
    ),
    Rule(
        id="pools-share-cluster",
        why="GKE refuses the pool, or the others' nodes lose what the switch gave them",
        remedy="put one of the pools into a cluster of its own",
        source="AI Hypercomputer docs, A4X Max with GKE; GKE docs, Shielded GKE nodes",
        find=_cannot_share,
    ),
)
