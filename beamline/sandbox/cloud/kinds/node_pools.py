"""GKE node pools: their rules, and the nodes they bring."""

import ipaddress
from collections.abc import Iterator
from typing import Any

from typing_extensions import override

from beamline.sandbox.cloud.errors import CloudError, bad_request, not_found
from beamline.sandbox.cloud.kinds.base import Identity, Inputs, Kind
from beamline.sandbox.cloud.kinds.clusters import (
    NODE_POOL,
    cluster_zones,
    gke_name_problem,
    version_problem,
    zone_failures,
)
from beamline.sandbox.cloud.kinds.compute import CLUSTER, SUBNETWORK, subnetwork_ranges
from beamline.sandbox.cloud.kinds.identities import check_account
from beamline.sandbox.cloud.kinds.node_configs import DEFAULT_MACHINE, floor_problem, node_config_problems
from beamline.sandbox.cloud.ledger import Record
from beamline.sandbox.cloud.machines import machine, region_of
from beamline.sandbox.cloud.names import last, project_problem
from beamline.sandbox.cloud.node_objects import GPU_TAINT, NodeTemplate
from beamline.sandbox.cloud.nodes import bring_to, remove_nodes
from beamline.sandbox.cloud.schema import Failure
from beamline.sandbox.cloud.simulation import Simulation
from beamline.sandbox.cloud.versions import GkeVersion

__all__ = ["NodePool", "nodes_per_zone"]

_DEFAULT_MAX_PODS = 110
_RESERVED_ADDRESSES = 4
"""Addresses of a subnetwork's primary range that Google keeps."""


class NodePool(Kind):
    """A node pool of a Standard cluster."""

    token = NODE_POOL
    title = "NodePool"
    create_s, update_s, delete_s = 60, 30, 120
    computed = (
        "initialNodeCount", "instanceGroupUrls", "location", "managedInstanceGroupUrls", "maxPodsPerNode",
        "nodeConfig.effectiveTaints", "nodeCount", "nodeLocations", "operation", "project", "version",
    )  # fmt: skip

    @override
    def identify(self, inputs: Inputs, simulation: Simulation) -> Identity:
        project = inputs.get("project") or simulation.project
        location = inputs.get("location") or simulation.region or simulation.zone
        cluster = inputs["cluster"]
        if not cluster.startswith("projects/"):
            cluster = f"projects/{project}/locations/{location}/clusters/{cluster}"
        name = inputs["name"]
        return Identity(f"{cluster}/nodePools/{name}", project, cluster.split("/")[3], name)

    @override
    def problems(self, inputs: Inputs, simulation: Simulation) -> Iterator[Failure]:
        if reason := gke_name_problem(inputs.get("name", "")):
            yield Failure("name", reason)
        if reason := project_problem(inputs.get("project") or simulation.project):
            yield Failure("project", reason)
        location = inputs.get("location") or simulation.region or simulation.zone
        if region_of(location) is None:
            yield Failure("location", f'Location "{location}" does not exist.')
            return
        yield from zone_failures(inputs, location)
        version = inputs.get("version")
        if (reason := version_problem(version, "Node")) or (
            version and (reason := floor_problem(inputs.get("nodeConfig") or {}, GkeVersion.parse(version)))
        ):
            yield Failure("version", reason)
        yield from _sizes(inputs)
        zones = cluster_zones(inputs, location)
        for failure in node_config_problems(
            inputs.get("nodeConfig") or {}, zones if inputs.get("nodeLocations") else zones[:1]
        ):
            yield Failure(f"nodeConfig.{failure.path}", failure.reason)

    @override
    def before_create(self, identity: Identity, inputs: Inputs, simulation: Simulation) -> None:
        cluster = _cluster_of(identity.id, simulation)
        master = GkeVersion.parse(cluster.outputs["masterVersion"])
        _check_version(inputs, master)
        channel = (cluster.inputs.get("releaseChannel") or {}).get("channel", "REGULAR")
        if channel != "UNSPECIFIED" and (inputs.get("management") or {}).get("autoUpgrade") is False:
            raise bad_request(f"Auto_upgrade must be true when release_channel {channel} is set.")
        config = inputs.get("nodeConfig") or {}
        if account := config.get("serviceAccount"):
            check_account(account, simulation)
        mode = (config.get("workloadMetadataConfig") or {}).get("mode")
        if mode == "GKE_METADATA" and not cluster.inputs.get("workloadIdentityConfig"):
            raise bad_request("GKE_METADATA needs a cluster with Workload Identity (workloadIdentityConfig)")
        _check_addresses(identity.id, inputs, cluster, simulation)

    @override
    def exists_already(self, identity: Identity) -> CloudError:
        # Terraform's provider looks first and never sends the request that GKE would answer with 409.
        return CloudError(
            f"resource - {identity.id} - already exists "
            f"(googleapi: Error 409: Already exists: {identity.id}., alreadyExists)"
        )

    @override
    def before_update(self, record: Record, inputs: Inputs, simulation: Simulation) -> None:
        cluster = _cluster_of(record.id, simulation)
        _check_version(inputs, GkeVersion.parse(cluster.outputs["masterVersion"]))
        _check_addresses(record.id, inputs, cluster, simulation)

    @override
    def outputs(self, record: Record, simulation: Simulation) -> dict[str, Any]:
        inputs, cluster = record.inputs, _cluster_of(record.id, simulation)
        counts = nodes_per_zone(inputs, cluster)
        config = inputs.get("nodeConfig") or {}
        groups = [f"projects/{record.project}/zones/{zone}/instanceGroupManagers/gke-{record.name}" for zone in counts]
        return {
            "cluster": last(record.id.rpartition("/nodePools/")[0]),
            "initialNodeCount": inputs.get("initialNodeCount", next(iter(counts.values()))),
            "instanceGroupUrls": [f"https://www.googleapis.com/compute/v1/{path}" for path in groups],
            "location": record.location,
            "managedInstanceGroupUrls": [
                f"https://www.googleapis.com/compute/v1/{path}".replace("Managers", "s") for path in groups
            ],
            "maxPodsPerNode": _max_pods(inputs, cluster),
            "nodeConfig": {**config, "effectiveTaints": _effective_taints(record, simulation)},
            "nodeCount": next(iter(counts.values())),
            "nodeLocations": list(counts),
            "operation": "",
            "project": record.project,
            "version": inputs.get("version") or record.outputs.get("version") or cluster.outputs["masterVersion"],
        }

    @override
    def settle(self, record: Record, simulation: Simulation) -> dict[str, Any]:
        cluster = _cluster_of(record.id, simulation)
        upgrade = record.inputs.get("upgradeSettings") or {}
        bring_to(
            simulation,
            _template(record, cluster),
            nodes_per_zone(record.inputs, cluster),
            subnet=_subnetwork_of(cluster, simulation).inputs["ipCidrRange"],
            surge=upgrade.get("maxSurge", 1),
        )
        return {}

    @override
    def remove(self, record: Record, simulation: Simulation) -> None:
        remove_nodes(simulation, record.id)


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


def _sizes(inputs: Inputs) -> Iterator[Failure]:
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


def _check_version(inputs: Inputs, master: GkeVersion) -> None:
    version = GkeVersion.parse(inputs["version"]) if inputs.get("version") else master
    if version.minor > master.minor:
        raise bad_request(
            f'Node version "{version}" must not have a greater minor version than master version "{master}".'
        )
    if version > master:
        raise bad_request(f'Node version "{version}" must not be greater than master version "{master}".')
    if master.minor - version.minor > 2:  # noqa: PLR2004 - the supported skew
        raise bad_request(f'Node version "{version}" must be within two minor versions of master version "{master}".')
    if reason := floor_problem(inputs.get("nodeConfig") or {}, version):
        raise bad_request(reason)


def _check_addresses(pool_id: str, inputs: Inputs, cluster: Record, simulation: Simulation) -> None:
    """Refuse a pool whose nodes or pods would not get addresses, before GKE is left with half a pool."""
    subnetwork = _subnetwork_of(cluster, simulation)
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
            addresses += count * _pod_block(_max_pods(pool, cluster))
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


def _max_pods(inputs: Inputs, cluster: Record) -> int:
    return int(inputs.get("maxPodsPerNode") or cluster.inputs.get("defaultMaxPodsPerNode") or _DEFAULT_MAX_PODS)


def _cluster_of(pool_id: str, simulation: Simulation) -> Record:
    path = pool_id.rpartition("/nodePools/")[0]
    found = simulation.ledger.find(CLUSTER, path)
    if found is None:
        raise not_found(f"Not found: {path}.")
    return found


def _subnetwork_of(cluster: Record, simulation: Simulation) -> Record:
    found = simulation.ledger.find(SUBNETWORK, cluster.outputs["subnetwork"])
    if found is None:
        raise not_found(f"Not found: {cluster.outputs['subnetwork']}.")
    return found


def _has_gpus(inputs: Inputs) -> bool:
    made = machine((inputs.get("nodeConfig") or {}).get("machineType", DEFAULT_MACHINE))
    return bool(made and made.gpus)


def _effective_taints(record: Record, simulation: Simulation) -> list[dict[str, str]]:
    """The pool's taints, and GKE's own for GPUs.

    GKE adds it when a GPU pool joins a cluster that also has other nodes, and never afterwards.
    """
    asked = [dict(taint) for taint in (record.inputs.get("nodeConfig") or {}).get("taints") or []]
    if any(taint["key"] == GPU_TAINT["key"] for taint in asked):
        return asked
    before = (record.outputs.get("nodeConfig") or {}).get("effectiveTaints")
    if before is not None:
        own = any(taint["key"] == GPU_TAINT["key"] for taint in before)
    else:
        others = simulation.ledger.of_type(NODE_POOL, under=f"{record.id.rpartition('/nodePools/')[0]}/")
        own = _has_gpus(record.inputs) and any(not _has_gpus(o.inputs) for o in others if o.id != record.id)
    return [*asked, {**GPU_TAINT, "effect": "NO_SCHEDULE"}] if own else asked


def _template(record: Record, cluster: Record) -> NodeTemplate:
    config = record.outputs.get("nodeConfig") or {}
    return NodeTemplate.of(
        record.inputs,
        pool_id=record.id,
        created=record.created,
        cluster=cluster.inputs,
        project=record.project,
        version=record.outputs["version"],
        gpu_taint=any(taint["key"] == GPU_TAINT["key"] for taint in config.get("effectiveTaints", [])),
    )
