"""GKE node pools: their rules, and the nodes they bring."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from typing_extensions import override

from beamline.sandbox.cloud.capacity import pool_reservation, sub_block_of
from beamline.sandbox.cloud.errors import CloudError, bad_request, not_found
from beamline.sandbox.cloud.inventory import read_inventory
from beamline.sandbox.cloud.kinds.base import Identity, Inputs, Kind
from beamline.sandbox.cloud.kinds.clusters import (
    NODE_POOL,
    cluster_zones,
    gke_name_problem,
    version_problem,
    zone_failures,
)
from beamline.sandbox.cloud.kinds.compute import CLUSTER
from beamline.sandbox.cloud.kinds.dynamic_workloads import dynamic_workload_problems
from beamline.sandbox.cloud.kinds.fabrics import check_fabric, fabric_problems
from beamline.sandbox.cloud.kinds.identities import check_account
from beamline.sandbox.cloud.kinds.keys import check_boot_disk_key, key_problem
from beamline.sandbox.cloud.kinds.node_configs import DEFAULT_MACHINE, floor_problem, node_config_problems
from beamline.sandbox.cloud.kinds.pool_sizes import (
    check_addresses,
    max_pods,
    nodes_per_zone,
    size_problems,
    subnetwork_of,
)
from beamline.sandbox.cloud.kinds.reservation_use import check_reservation
from beamline.sandbox.cloud.ledger import Record
from beamline.sandbox.cloud.machines import machine, region_of
from beamline.sandbox.cloud.names import last, project_problem
from beamline.sandbox.cloud.node_objects import GPU_TAINT, NodeTemplate, architecture_taint
from beamline.sandbox.cloud.nodes import bring_to, is_replaced, node_names, remove_nodes
from beamline.sandbox.cloud.schema import Failure
from beamline.sandbox.cloud.simulation import Simulation
from beamline.sandbox.cloud.versions import GkeVersion

__all__ = ["NodePool"]


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
        yield from size_problems(inputs)
        yield from dynamic_workload_problems(inputs)
        yield from fabric_problems(inputs)
        disk_key = (inputs.get("nodeConfig") or {}).get("bootDiskKmsKey")
        if reason := key_problem(disk_key, region_of(location) or ""):
            yield Failure("nodeConfig.bootDiskKmsKey", reason)
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
        check_boot_disk_key(config.get("bootDiskKmsKey"), simulation)
        mode = (config.get("workloadMetadataConfig") or {}).get("mode")
        if mode == "GKE_METADATA" and not cluster.inputs.get("workloadIdentityConfig"):
            raise bad_request("GKE_METADATA needs a cluster with Workload Identity (workloadIdentityConfig)")
        _check_offered(inputs.get("version"), cluster, simulation)
        check_fabric(inputs, list(nodes_per_zone(inputs, cluster)), cluster, simulation)
        pool = Record(self.token, identity.id, identity.project, identity.location, identity.name, dict(inputs), {})
        check_reservation(pool, cluster, simulation)
        check_addresses(identity.id, inputs, cluster, simulation)

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
        if inputs.get("version") != record.outputs.get("version"):
            _check_offered(inputs.get("version"), cluster, simulation)
        check_fabric(inputs, list(nodes_per_zone(inputs, cluster)), cluster, simulation)
        check_reservation(replace(record, inputs=dict(inputs)), cluster, simulation)
        check_addresses(record.id, inputs, cluster, simulation)

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
            "maxPodsPerNode": max_pods(inputs, cluster),
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
        template, counts = _template(record, cluster), nodes_per_zone(record.inputs, cluster)
        surge = (record.inputs.get("upgradeSettings") or {}).get("maxSurge", 1)
        sub_block = sub_block_of(record, simulation)
        granted = {zone: min(count, sub_block.free) for zone, count in counts.items()} if sub_block else counts
        wanted, running = sum(counts.values()), sum(granted.values())
        if sub_block and surge and is_replaced(simulation, template, granted) and running + surge > sub_block.free:
            # The additional node of a surge needs a host of its own: GKE's upgrade gets none and does not go on.
            raise sub_block.stockout(wanted + surge, len(node_names(simulation, record.id)))
        bring_to(
            simulation,
            template,
            granted,
            subnet=subnetwork_of(cluster, simulation).inputs["ipCidrRange"],
            surge=surge,
        )
        if sub_block and running < wanted and not simulation.interrupted.is_set():
            raise sub_block.stockout(wanted, running)
        return {}

    @override
    def remove(self, record: Record, simulation: Simulation) -> None:
        remove_nodes(simulation, record.id)


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


def _check_offered(version: str | None, cluster: Record, simulation: Simulation) -> None:
    """The version a control plane runs is always there for nodes."""
    channel = (cluster.inputs.get("releaseChannel") or {}).get("channel", "REGULAR")
    if version is None or version == cluster.outputs["masterVersion"]:
        return
    offered = read_inventory(simulation).offers(GkeVersion.parse(version), channel, cluster.location, of="nodes")
    if not offered:
        raise bad_request(f'Node version "{version}" is unsupported.')


def _cluster_of(pool_id: str, simulation: Simulation) -> Record:
    path = pool_id.rpartition("/nodePools/")[0]
    found = simulation.ledger.find(CLUSTER, path)
    if found is None:
        raise not_found(f"Not found: {path}.")
    return found


def _has_gpus(inputs: Inputs) -> bool:
    made = machine((inputs.get("nodeConfig") or {}).get("machineType", DEFAULT_MACHINE))
    return bool(made and made.gpus)


def _effective_taints(record: Record, simulation: Simulation) -> list[dict[str, str]]:
    """The pool's taints, and GKE's own where the pool does not set them itself."""
    config = record.inputs.get("nodeConfig") or {}
    asked = [dict(taint) for taint in config.get("taints") or []]
    own = [GPU_TAINT] if _has_gpu_taint(record, simulation) else []
    made = machine(config.get("machineType", DEFAULT_MACHINE))
    if made and (taint := architecture_taint(made, config)):
        own.append(taint)
    keys = {taint["key"] for taint in asked}
    return [*asked, *({**taint, "effect": "NO_SCHEDULE"} for taint in own if taint["key"] not in keys)]


def _has_gpu_taint(record: Record, simulation: Simulation) -> bool:
    """GKE taints a GPU pool when it joins a cluster that also has other nodes, and never afterwards."""
    before = (record.outputs.get("nodeConfig") or {}).get("effectiveTaints")
    if before is not None:
        return any(taint["key"] == GPU_TAINT["key"] for taint in before)
    others = simulation.ledger.of_type(NODE_POOL, under=f"{record.id.rpartition('/nodePools/')[0]}/")
    return _has_gpus(record.inputs) and any(not _has_gpus(o.inputs) for o in others if o.id != record.id)


def _template(record: Record, cluster: Record) -> NodeTemplate:
    return NodeTemplate.of(
        record.inputs,
        pool_id=record.id,
        created=record.created,
        cluster=cluster.inputs,
        project=record.project,
        version=record.outputs["version"],
        taints=(record.outputs.get("nodeConfig") or {}).get("effectiveTaints") or [],
        reservation=pool_reservation(record),
    )
