"""How many nodes a pool has, and whether they and their pods get addresses."""

import ipaddress
from collections.abc import Iterator

from beamline.sandbox.cloud.errors import CloudError, bad_request, not_found
from beamline.sandbox.cloud.kinds.base import Inputs
from beamline.sandbox.cloud.kinds.clusters import NODE_POOL, cluster_zones
from beamline.sandbox.cloud.kinds.compute import SUBNETWORK, subnetwork_ranges
from beamline.sandbox.cloud.ledger import Record
from beamline.sandbox.cloud.schema import Failure
from beamline.sandbox.cloud.simulation import Simulation

__all__ = ["check_addresses", "max_pods", "nodes_per_zone", "size_problems", "subnetwork_of"]

_DEFAULT_MAX_PODS = 110
_RESERVED_ADDRESSES = 4
"""Addresses of a subnetwork's primary range that Google keeps."""


def nodes_per_zone(inputs: Inputs, cluster: Record) -> dict[str, int]:
    """Return zone to number of nodes. There is no autoscaler: an autoscaled pool stays at its minimum."""
    zones = sorted(inputs.get("nodeLocations") or cluster_zones(cluster.inputs, cluster.location))
    scaling = inputs.get("autoscaling") or {}
    if "nodeCount" in inputs:
        count = inputs["nodeCount"]
    elif scaling:
        count = max(inputs.get("initialNodeCount", 0), scaling.get("minNodeCount", 0))
        total = max(scaling.get("totalMinNodeCount", 0), count * len(zones))
        return {zone: total // len(zones) + (index < total % len(zones)) for index, zone in enumerate(zones)}
    else:
        count = inputs.get("initialNodeCount", 1)
    return dict.fromkeys(zones, int(count))


def size_problems(inputs: Inputs) -> Iterator[Failure]:
    """Yield what is wrong with the numbers of a pool by themselves."""
    if "nodeCount" in inputs and "initialNodeCount" in inputs:
        yield Failure(
            "initialNodeCount", f"Cannot set both initial_node_count and node_count on node pool {inputs.get('name')}"
        )
    for key in ("nodeCount", "initialNodeCount"):
        if inputs.get(key, 0) < 0:
            yield Failure(key, f"expected {key} to be at least (0), got {inputs[key]}")
    scaling = inputs.get("autoscaling") or {}
    for low, high in (("minNodeCount", "maxNodeCount"), ("totalMinNodeCount", "totalMaxNodeCount")):
        if scaling.get(low, 0) > scaling.get(high, scaling.get(low, 0)):
            yield Failure(f"autoscaling.{low}", f"{low} {scaling[low]} is more than {high} {scaling[high]}")
    if scaling and "nodeCount" in inputs:
        yield Failure("nodeCount", "an autoscaled pool has no fixed nodeCount: use initialNodeCount")
    if {"minNodeCount", "maxNodeCount"} & scaling.keys() and {
        "totalMinNodeCount",
        "totalMaxNodeCount",
    } & scaling.keys():
        yield Failure("autoscaling", "per-zone and total limits cannot be used together")
    pods = inputs.get("maxPodsPerNode")
    if pods is not None and not 8 <= pods <= 256:  # noqa: PLR2004 - GKE's limits
        yield Failure("maxPodsPerNode", f"the maximum of pods per node is 8 to 256, not {pods}")
    upgrade = inputs.get("upgradeSettings") or {}
    if "maxSurge" in upgrade and upgrade["maxSurge"] + upgrade.get("maxUnavailable", 0) < 1:
        yield Failure("upgradeSettings", "maxSurge and maxUnavailable must not both be 0")


def check_addresses(pool_id: str, inputs: Inputs, cluster: Record, simulation: Simulation) -> None:
    """Refuse a pool whose nodes or pods would not get addresses, before GKE is left with half a pool."""
    subnetwork = subnetwork_of(cluster, simulation)
    policy = cluster.inputs.get("ipAllocationPolicy") or {}
    default = policy.get("clusterSecondaryRangeName")
    pod_range = (inputs.get("networkConfig") or {}).get("podRange") or default
    ranges = subnetwork_ranges(subnetwork)
    if pod_range and pod_range not in ranges:
        raise bad_request(f'Pod secondary range "{pod_range}" does not exist in subnetwork "{subnetwork.id}".')
    nodes, addresses = 0, 0
    others = [p for p in simulation.ledger.of_type(NODE_POOL, under=f"{cluster.id}/") if p.id != pool_id]
    for pool in [*(other.inputs for other in others), inputs]:
        count = sum(nodes_per_zone(pool, cluster).values())
        nodes += count
        if ((pool.get("networkConfig") or {}).get("podRange") or default) == pod_range:
            addresses += count * _pod_block(max_pods(pool, cluster))
    if pod_range and addresses > ipaddress.ip_network(ranges[pod_range]).num_addresses:
        raise _exhausted(subnetwork, pod_range, ranges[pod_range], addresses)
    primary = subnetwork.inputs["ipCidrRange"]
    if nodes > ipaddress.ip_network(primary).num_addresses - _RESERVED_ADDRESSES:
        raise _exhausted(subnetwork, "primary range", primary, nodes)


def _exhausted(subnetwork: Record, name: str, block: str, needed: int) -> CloudError:
    return CloudError(
        f"Error waiting for creating GKE NodePool: [IP_SPACE_EXHAUSTED]: IP space of '{subnetwork.id}-{name}' "
        "is exhausted: "
        f"{needed} addresses are needed, {block} has {ipaddress.ip_network(block).num_addresses}."
    )


def _pod_block(max_pods: int) -> int:
    """GKE gives a node a block of at least twice its maximum of pods."""
    return int(2 ** (2 * max_pods - 1).bit_length())


def max_pods(inputs: Inputs, cluster: Record) -> int:
    """Return the most pods a node of a pool can have."""
    return int(inputs.get("maxPodsPerNode") or cluster.inputs.get("defaultMaxPodsPerNode") or _DEFAULT_MAX_PODS)


def subnetwork_of(cluster: Record, simulation: Simulation) -> Record:
    """Return the subnetwork of a cluster's nodes. Raises CloudError when it is gone."""
    found = simulation.ledger.find(SUBNETWORK, cluster.outputs["subnetwork"])
    if found is None:
        raise not_found(f"Not found: {cluster.outputs['subnetwork']}.")
    return found
