"""From a checked stack to the arguments of its components: which value goes where, and nothing else.

Whatever depends on the machine comes from its catalog row, whatever depends on the model from derived values.
"""

from __future__ import annotations

from typing import Any

from components.accelerator_node_pool import AcceleratorNodePoolArgs
from components.cluster import Cluster, ClusterArgs
from components.cluster_options import ControlPlane, Exclusion, Maintenance
from components.existing_cluster import ExistingCluster, ExistingClusterArgs
from components.existing_network import ExistingNetwork, ExistingNetworkArgs
from components.helm_releases import ReleaseArgs
from components.host_maintenance import HostMaintenance
from components.kubernetes_objects import ObjectArgs
from components.network import Network, NetworkArgs
from components.registry import artifact_registry
from components.system_node_pool import SystemNodePoolArgs
from manifests import HelmRelease, KubernetesObject, token_secrets
from stacks import StackSpec
from stacks.pools import Pool
from stacks.spec import AsNeeded, FlexStart, GcsFuse, ManagedPrometheus, NewCluster, NewNetwork, Periodic, Spot
from stacks.spec import ExistingCluster as ExistingClusterPlan
from stacks.spec import ExistingNetwork as ExistingNetworkPlan

__all__ = [
    "accelerator_pool_args",
    "cluster_args",
    "existing_cluster_args",
    "existing_network_args",
    "network_args",
    "object_args",
    "release_args",
    "system_pool_args",
]


def network_args(spec: StackSpec, plan: NewNetwork) -> NetworkArgs:
    """Arguments of a VPC of the stack's own."""
    return {
        "prefix": spec.prefix,
        "project": spec.settings.project,
        "region": spec.settings.region,
        "mtu": plan.mtu,
        "nodes_cidr": plan.nodes_cidr,
        "pods_cidr": plan.pods_cidr,
        "services_cidr": plan.services_cidr,
        "proxy_only_cidr": plan.proxy_only_cidr,
    }


def existing_network_args(spec: StackSpec, plan: ExistingNetworkPlan) -> ExistingNetworkArgs:
    """Arguments of a VPC that is there already."""
    return {
        "project": spec.settings.project,
        "region": spec.settings.region,
        "network": plan.network,
        "subnetwork": plan.subnetwork,
        "pods_range": plan.pods_range,
        "services_range": plan.services_range,
    }


def cluster_args(spec: StackSpec, plan: NewCluster, network: Network | ExistingNetwork) -> ClusterArgs:
    """Arguments of a cluster of the stack's own."""
    args: ClusterArgs = {
        "prefix": spec.prefix,
        "project": spec.settings.project,
        "region": spec.settings.region,
        "zone": spec.settings.zone,
        "network": network.network,
        "subnetwork": network.subnetwork,
        "pods_range": network.pods_range,
        "services_range": network.services_range,
        "release_channel": plan.release_channel,
        "version": plan.version,
        "maintenance": _maintenance(plan),
        "control_plane": _control_plane(plan),
        "binary_authorization": plan.binary_authorization,
        "mounts_secrets": bool(token_secrets(spec)),
        "mounts_buckets": isinstance(spec.preset.model.storage, GcsFuse),
        "shielded_nodes": spec.rows.hardware.gke.shielded_nodes,
        "gpu_metrics": all(row.gke.managed_dcgm for row in spec.rows.pools.values()),
        "managed_prometheus": isinstance(spec.preset.monitoring, ManagedPrometheus),
        "scales_pods": spec.preset.serving.scaling is not None,
        "protected": spec.preset.production,
    }
    if plan.encryption_key:
        args["encryption_key"] = plan.encryption_key
    registry = artifact_registry(spec.settings.mirror)
    if registry:
        args["image_registry"] = registry
    return args


def _maintenance(plan: NewCluster) -> Maintenance:
    written = plan.maintenance
    exclusions: list[Exclusion] = []
    for name, exclusion in written.exclusions.items():
        excluded: Exclusion = {"name": name, "scope": exclusion.scope, "start": exclusion.start.isoformat()}
        if exclusion.end:
            excluded["end"] = exclusion.end.isoformat()
        exclusions.append(excluded)
    return {
        "days": list(written.days),
        "start_hour_utc": written.start_hour_utc,
        "hours": written.hours,
        "exclusions": exclusions,
    }


def _control_plane(plan: NewCluster) -> ControlPlane:
    written = plan.control_plane
    found: ControlPlane = {"dns_endpoint": written.dns_endpoint}
    if written.ip_endpoint:
        found["ip_endpoint"] = {
            "public": written.ip_endpoint.public,
            "authorized_networks": list(written.ip_endpoint.authorized_networks),
        }
    return found


def _encryption_key(spec: StackSpec) -> str | None:
    """The new cluster's key; a cluster that is there already keeps its owner's choice for its own nodes."""
    cluster = spec.preset.cluster
    return cluster.encryption_key if isinstance(cluster, NewCluster) else None


def existing_cluster_args(spec: StackSpec, plan: ExistingClusterPlan) -> ExistingClusterArgs:
    """Arguments of a cluster that is there already."""
    args: ExistingClusterArgs = {
        "prefix": spec.prefix,
        "project": spec.settings.project,
        "region": spec.settings.region,
        "cluster": plan.name,
        "node_version": plan.version,
        "shielded_nodes": spec.rows.hardware.gke.shielded_nodes,
        "mounts_secrets": bool(token_secrets(spec)),
        "mounts_buckets": isinstance(spec.preset.model.storage, GcsFuse),
        "managed_prometheus": isinstance(spec.preset.monitoring, ManagedPrometheus),
        "scales_pods": spec.preset.serving.scaling is not None,
    }
    registry = artifact_registry(spec.settings.mirror)
    if registry:
        args["image_registry"] = registry
    return args


def system_pool_args(spec: StackSpec, cluster: Cluster | ExistingCluster) -> SystemNodePoolArgs:
    """Arguments of the pool for everything that needs no accelerator."""
    pool, row = spec.preset.system_pool, spec.rows.system
    args: SystemNodePoolArgs = {
        "prefix": spec.prefix,
        "project": spec.settings.project,
        "region": spec.settings.region,
        "zone": spec.settings.zone,
        "cluster": cluster.name,
        "service_account": cluster.node_service_account,
        "version": spec.preset.cluster.version,
        "machine_type": pool.machine_type,
        "nodes": pool.nodes,
        "boot_disk_type": row.gke.boot_disk_types[0],
        "boot_disk_gb": pool.boot_disk_gb,
        "max_pods_per_node": row.gke.max_pods_per_node,
        "protected": spec.preset.production,
    }
    key = _encryption_key(spec)
    if key:
        args["encryption_key"] = key
    return args


def accelerator_pool_args(spec: StackSpec, wanted: Pool, cluster: Cluster | ExistingCluster) -> AcceleratorNodePoolArgs:
    """Arguments of a GPU pool; the transport decides about huge pages, the machine's row about everything else."""
    pool, row, transport = wanted.plan, wanted.row, spec.rows.transport
    profile, reservation = spec.rows.network_profile(row), spec.reservation_of(wanted)
    args: AcceleratorNodePoolArgs = {
        "prefix": spec.prefix,
        "pool": wanted.name,
        "project": spec.settings.project,
        "region": spec.settings.region,
        "zone": spec.settings.zone,
        "cluster": cluster.name,
        "service_account": cluster.node_service_account,
        "version": spec.preset.cluster.version,
        "machine_type": pool.machine_type,
        "accelerator_type": row.gpu.accelerator_type,
        "accelerators_per_node": row.gpu.count,
        "taints": row.gke.taints,
        "labels": row.fabric.node_labels if profile else {},
        "shielded_nodes": row.gke.shielded_nodes,
        "gvnic": row.network.gvnic,
        "hugepages_2mi": transport.hugepages_2mi_per_node if transport and spec.rows.runs_on(row) else 0,
        "nodes": pool.nodes,
        "boot_disk_type": row.gke.boot_disk_types[0],
        "boot_disk_gb": pool.boot_disk_gb,
        "local_ssd_count": wanted.local_ssd_count,
        "local_ssd_mode": pool.local_ssd_mode,
        "max_pods_per_node": row.gke.max_pods_per_node,
        "spot": isinstance(pool.provisioning, Spot),
        "image_streaming": artifact_registry(spec.settings.mirror) is not None or pool.image_disk is not None,
        "node_budget_s": wanted.node_budget_s,
        "auto_repair": pool.repaired,
        "protected": spec.preset.production,
    }
    key = _encryption_key(spec)
    if key:
        args["encryption_key"] = key
    if pool.image_disk:
        args["image_disk"] = pool.image_disk
    if pool.host_maintenance:
        args["host_maintenance"] = _host_maintenance(pool.host_maintenance)
    if isinstance(pool.provisioning, FlexStart):
        args["flex_start"] = {"max_run_duration_s": pool.provisioning.max_run_duration_s}
    if reservation:
        args["reservation"] = reservation
    if profile:
        args["accelerator_network_profile"] = profile
    if row.fabric.placement:
        placed = row.fabric.placement
        args["workload_policy"] = {"type": placed.type, "accelerator_topology": placed.accelerator_topology}
    return args


def _host_maintenance(chosen: AsNeeded | Periodic) -> HostMaintenance:
    wanted: HostMaintenance = {"interval": chosen.kind.upper()}
    if isinstance(chosen, Periodic) and chosen.opportunistic:
        strategy = chosen.opportunistic
        wanted["opportunistic"] = {
            "node_idle_s": strategy.node_idle_s,
            "window_s": strategy.window_s,
            "min_nodes": strategy.min_nodes,
        }
    return wanted


def object_args(item: KubernetesObject) -> ObjectArgs:
    """Arguments of one Kubernetes object."""
    args: ObjectArgs = {"name": item.name, "body": dict(item.body), "await_ready": item.await_ready}
    if item.timeout_s is not None:
        args["timeout_s"] = item.timeout_s
    if item.update_timeout_s is not None:
        args["update_timeout_s"] = item.update_timeout_s
    if item.wait_for:
        args["wait_for"] = list(item.wait_for)
    if item.alone:
        args["alone"] = True
    if item.after:
        args["after"] = list(item.after)
    return args


def release_args(item: HelmRelease) -> ReleaseArgs:
    """Arguments of one chart."""
    values: dict[str, Any] = dict(item.values)
    args: ReleaseArgs = {
        "name": item.name,
        "chart": item.chart.chart,
        "version": item.chart.version,
        "namespace": item.chart.namespace,
        "values": values,
        "timeout_s": item.timeout_s,
    }
    if item.chart.repository:
        args["repository"] = item.chart.repository
    if item.after:
        args["after"] = list(item.after)
    return args
