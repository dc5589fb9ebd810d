"""The address plan: valid, disjoint, and large enough for the nodes that are asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from ipaddress import IPv4Network, ip_network
from itertools import combinations

from stacks.checks.candidate import Candidate
from stacks.problems import Problem, touches
from stacks.spec import ClusterNetwork, ExistingCluster, ExistingNetwork, NewNetwork
from stacks.wording import some

__all__ = ["CHECKS"]

_TAKEN = tuple(
    (IPv4Network(network), words)
    for network, words in (
        ("0.0.0.0/8", "0.0.0.0/8, which means this host"),
        ("127.0.0.0/8", "127.0.0.0/8, the loopback range"),
        ("169.254.0.0/16", "169.254.0.0/16, where the metadata server is"),
        ("172.17.0.0/16", "172.17.0.0/16, which GKE's nodes use themselves"),
        ("224.0.0.0/4", "224.0.0.0/4, the multicast range"),
    )
)
_SMALLEST_SERVICES_PREFIX = 27
"""32 addresses: GKE's own services take about a dozen, the stack's a handful."""
_KEYS = ("nodes_cidr", "pods_cidr", "services_cidr", "proxy_only_cidr")
_SURGE_NODES = 1
"""An upgrade adds a node per pool before it removes one."""


def _parse(text: str) -> IPv4Network | None:
    try:
        network = ip_network(text)
    except ValueError:
        return None
    return network if isinstance(network, IPv4Network) else None


def _ranges(c: Candidate) -> dict[str, IPv4Network | None]:
    """Ranges that the stack names, None for what is no range; most of an existing network's only Google knows."""
    network = c.preset.network
    if isinstance(network, NewNetwork):
        return {key: _parse(getattr(network, key)) for key in _KEYS}
    return {} if network.proxy_only_cidr is None else {"proxy_only_cidr": _parse(network.proxy_only_cidr)}


def valid(c: Candidate) -> Iterator[Problem]:
    """Each range is a network address with its prefix."""
    for key, network in _ranges(c).items():
        if network is None:
            yield Problem(
                rule="cidr",
                path=f"network.{key}",
                value=getattr(c.preset.network, key),
                why="this is not a network in CIDR form (host bits set, or an octet above 255)",
                allowed="such as 10.0.0.0/20",
                remedy="write the network address with its prefix length",
                source="RFC 4632",
            )


def assignable(c: Candidate) -> Iterator[Problem]:
    """Some ranges mean something else on every host."""
    for key, network in _ranges(c).items():
        if network is None:
            continue
        taken = next((words for other, words in _TAKEN if network.overlaps(other)), None)
        if taken:
            yield Problem(
                rule="cidr-taken",
                path=f"network.{key}",
                value=str(network),
                why=f"it overlaps {taken}",
                allowed="private ranges, such as 10.0.0.0/8, 172.16.0.0/12 (less 172.17.0.0/16) and 192.168.0.0/16",
                remedy="move it to a private range",
                source="VPC docs, prohibited IPv4 subnet ranges; GKE docs, VPC-native clusters",
            )


def disjoint(c: Candidate) -> Iterator[Problem]:
    """Ranges of one VPC must not overlap; GKE says so only when the cluster is created."""
    known = [(key, network) for key, network in _ranges(c).items() if network]
    for (key, network), (other_key, other) in combinations(known, 2):
        if network.overlaps(other):
            yield Problem(
                rule="cidr-overlap",
                path=f"network.{other_key}",
                value=str(other),
                why=f"it overlaps network.{key} ({network})",
                allowed="ranges that share no address",
                remedy="move one of them",
                source="GKE docs, VPC-native clusters",
            )


def pods_range(c: Candidate) -> Iterator[Problem]:
    """Every node takes a block of pod addresses: twice its maximum of pods, rounded up to a power of two."""
    network = _ranges(c).get("pods_cidr")
    if network is None:
        return
    pools = (
        (c.preset.system_pool.nodes, c.rows.system.gke.max_pods_per_node),
        *((pool.plan.nodes, pool.row.gke.max_pods_per_node) for pool in c.pools),
        (1, c.rows.system.gke.max_pods_per_node),  # the default pool GKE creates first and the stack removes
    )
    needed = sum((nodes + _SURGE_NODES) * 2 ** math.ceil(math.log2(2 * pods)) for nodes, pods in pools)
    if network.num_addresses < needed:
        yield Problem(
            rule="pods-range",
            path="network.pods_cidr",
            value=str(network),
            why=f"the pools with one surge node each and the temporary default pool take {needed} pod addresses, "
            f"the range has {network.num_addresses}; cluster or pool creation fails late",
            allowed=f"/{32 - math.ceil(math.log2(needed))} or larger",
            remedy="widen the range",
            source="GKE docs, flexible pod CIDR: a node takes 2 x max pods, rounded up to a power of two",
        )


def nodes_range(c: Candidate) -> Iterator[Problem]:
    """Google keeps four addresses of every subnet."""
    network = _ranges(c).get("nodes_cidr")
    pools = [c.preset.system_pool.nodes, *(pool.plan.nodes for pool in c.pools)]
    nodes = sum(pools) + len(pools) * _SURGE_NODES + 1
    usable = 0 if network is None else max(0, network.num_addresses - 4)
    if network is not None and usable < nodes:
        yield Problem(
            rule="nodes-range",
            path="network.nodes_cidr",
            value=str(network),
            why=f"{nodes} nodes with surge do not fit {some(usable, 'usable address')}",
            allowed=f"/{32 - math.ceil(math.log2(nodes + 4))} or larger",
            remedy="widen the range",
            source="VPC docs, reserved addresses of a subnet",
        )


def services_range(c: Candidate) -> Iterator[Problem]:
    """Every Service takes one address, those of GKE and of the metrics collection too."""
    network = _ranges(c).get("services_cidr")
    if network is not None and network.prefixlen > _SMALLEST_SERVICES_PREFIX:
        yield Problem(
            rule="services-range",
            path="network.services_cidr",
            value=str(network),
            why=f"{some(network.num_addresses, 'address')} will not do for the services of GKE and of the stack",
            allowed=f"/{_SMALLEST_SERVICES_PREFIX} or larger",
            remedy="widen the range; it cannot be changed later",
            source="GKE docs, VPC-native clusters; the limit is ours",
        )


def proxy_only(c: Candidate) -> Iterator[Problem]:
    """Regional gateways run on proxies in a subnet of their own, /26 or larger."""
    network = _ranges(c).get("proxy_only_cidr")
    if network is not None and network.prefixlen > 26:  # noqa: PLR2004 - the documented limit
        yield Problem(
            rule="proxy-only-range",
            path="network.proxy_only_cidr",
            value=str(network),
            why="a proxy-only subnet has at least 64 addresses, or no Gateway is ever programmed",
            allowed="/26 or larger; /23 is recommended",
            remedy="widen the range",
            source="Cloud Load Balancing docs, proxy-only subnets",
        )


def secondary_ranges(c: Candidate) -> Iterator[Problem]:
    """Pods and Services have ranges of their own."""
    network = c.preset.network
    if isinstance(network, ExistingNetwork) and network.pods_range == network.services_range:
        yield Problem(
            rule="same-secondary-range",
            path="network.services_range",
            value=network.services_range,
            why="pods and Services would take addresses from the same range; GKE refuses the cluster",
            allowed="another secondary range of the subnet",
            remedy="name the range that is for Services",
            source="GKE docs, VPC-native clusters",
        )


def proxies_known(c: Candidate) -> Iterator[Problem]:
    """Whose requests a pod takes is told by address, and the stack does not know that of somebody else's subnet."""
    network = c.preset.network
    if not isinstance(network, NewNetwork) and network.proxy_only_cidr is None:
        yield Problem(
            rule="proxies-unknown",
            path="network.proxy_only_cidr",
            why="the stack does not know the subnet of the load balancer's proxies, so engines take requests from any "
            "address that can reach them, not only those that passed the Gateway",
            allowed="the range of the VPC's proxy-only subnet in the region",
            remedy="gcloud compute networks subnets list --filter=purpose=REGIONAL_MANAGED_PROXY",
            source="Cloud Load Balancing docs, proxy-only subnets",
            severity="note",
        )


def whose_namespace(c: Candidate) -> Iterator[Problem]:
    """A cluster that does not exist yet has no namespaces of anybody's."""
    if c.preset.serving.existing_namespace and not isinstance(c.preset.cluster, ExistingCluster):
        yield Problem(
            rule="namespace-of-cluster",
            path="serving.existing_namespace",
            value=True,
            why="the stack creates the cluster, so the namespace cannot be there already",
            allowed="false with a new cluster",
            remedy="leave it out, or name an existing cluster (cluster.kind: existing)",
            source="Kubernetes docs, namespaces",
        )


def whose_network(c: Candidate) -> Iterator[Problem]:
    """An existing cluster has its network already; a new one needs to be told."""
    existing, inherited = isinstance(c.preset.cluster, ExistingCluster), isinstance(c.preset.network, ClusterNetwork)
    if existing == inherited or touches("cluster", c.set_aside) or touches("network", c.set_aside):
        return
    clusters_turn = "cluster" in c.overrides and "network" not in c.overrides
    yield Problem(
        rule="network-of-cluster",
        path="cluster.kind" if clusters_turn else "network.kind",
        value=c.preset.cluster.kind if clusters_turn else c.preset.network.kind,
        why="an existing cluster stays in the VPC it was made in, so another network would do nothing"
        if existing
        else "a new cluster has no network yet that could be taken over",
        allowed="cluster: existing with network: of_cluster; cluster: new with network: new or existing",
        remedy="write network: {kind: of_cluster} beside it"
        if existing
        else "describe a new network, name an existing one, or name an existing cluster",
        source="GKE docs, VPC-native clusters: network and subnet cannot be changed",
    )


CHECKS = (
    whose_network,
    whose_namespace,
    secondary_ranges,
    valid,
    assignable,
    disjoint,
    pods_range,
    nodes_range,
    services_range,
    proxy_only,
    proxies_known,
)
