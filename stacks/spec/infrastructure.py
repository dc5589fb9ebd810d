"""What a preset says about the ground a stack stands on: cluster, network and node pools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from stacks.forms import Cidr, DiskImage, GkeVersion, KmsKey, PoolName, ResourceName, Text
from stacks.rows import RefusedKind, Strict
from stacks.spec.cluster_options import ControlPlane, Maintenance
from stacks.spec.host_maintenance import AsNeeded, Periodic

__all__ = [
    "AcceleratorPool",
    "AcceleratorPools",
    "ClusterNetwork",
    "ExistingCluster",
    "ExistingNetwork",
    "FlexStart",
    "NewCluster",
    "NewNetwork",
    "OnDemand",
    "PoolUse",
    "Reservation",
    "Spot",
    "SystemPool",
]

Nodes = Annotated[int, Field(gt=0, le=1000, description="GKE's limit is 1000 nodes a pool.")]
BOOT_DISK_LIMIT_GB = 65_536
"""64 TiB: no disk of Compute Engine is larger."""


class NewCluster(Strict):
    """A GKE cluster of the stack's own with private nodes."""

    kind: Literal["new"]
    version: GkeVersion = Field(description="Exact version of control plane and nodes, x.y.z-gke.n.")
    release_channel: Literal["RAPID", "REGULAR", "STABLE", "EXTENDED"]
    maintenance: Maintenance = Field(default_factory=Maintenance)
    control_plane: ControlPlane = Field(default_factory=ControlPlane)
    binary_authorization: bool = Field(default=False, description="Whether the project's policy decides about images.")
    encryption_key: KmsKey | None = Field(
        default=None, description="For secrets in etcd and boot disks; null: Google's own keys."
    )


class ExistingCluster(Strict):
    """A cluster that is there already, in the stack's project and region; the stack adds its node pools."""

    kind: Literal["existing"]
    name: ResourceName
    version: GkeVersion = Field(description="Exact version of the new nodes; not newer than the control plane.")


class NewNetwork(Strict):
    """A VPC of the stack's own, and its address plan."""

    kind: Literal["new"]
    mtu: Annotated[int, Field(ge=1300, le=8896)]
    nodes_cidr: Cidr
    pods_cidr: Cidr
    services_cidr: Cidr
    proxy_only_cidr: Cidr = Field(description="Envoy proxies of the regional Gateway classes; /26 or larger.")


class ExistingNetwork(Strict):
    """A VPC that is there already, in the stack's project, with its NAT and its proxy-only subnet."""

    kind: Literal["existing"]
    network: ResourceName
    subnetwork: ResourceName = Field(description="Subnet of the nodes, in the stack's region.")
    pods_range: ResourceName = Field(description="Name of the subnet's secondary range for pods.")
    services_range: ResourceName = Field(description="Name of the subnet's secondary range for Services.")
    proxy_only_cidr: Cidr | None = Field(
        default=None,
        description="Subnet of the regional Gateway classes' proxies; null: pods let requests in from any address.",
    )


class ClusterNetwork(Strict):
    """Whatever VPC the existing cluster is in."""

    kind: Literal["of_cluster"]
    proxy_only_cidr: Cidr | None = Field(
        default=None,
        description="Subnet of the regional Gateway classes' proxies; null: pods let requests in from any address.",
    )


class SystemPool(Strict):
    """The small pool for routers and operators; never GPU work."""

    machine_type: Text = Field(description="A row of stacks/catalog/system.")
    nodes: Nodes
    boot_disk_gb: Annotated[int, Field(ge=30, le=BOOT_DISK_LIMIT_GB)]


class OnDemand(Strict):
    """Capacity by the hour, if there is any."""

    kind: Literal["on_demand"]


class Spot(Strict):
    """Preemptible capacity."""

    kind: Literal["spot"]


_QUEUED = RefusedKind(
    why="queued provisioning brings nodes for one ProvisioningRequest, once, and takes them away after a week at most; "
    "pods that consume a request never ask for nodes themselves, so a server's pods would wait for ever after that. It "
    "is for jobs that end; flex-start nodes come again whenever pods ask",
    source="GKE docs, flex-start with queued provisioning: large-scale batch workloads; cluster-autoscaler, "
    "processors/provreq/pods_filter.go: pods of a request trigger no scale-up",
)


class FlexStart(Strict):
    """Capacity that Google gives when it has some: nodes come when pods ask for them, and stay for days at most."""

    refused_kinds: ClassVar[Mapping[str, RefusedKind]] = {"queued": _QUEUED}

    kind: Literal["flex_start"]
    max_run_duration_s: Annotated[int, Field(ge=600, le=604_800)] = Field(
        default=604_800, description="Each node is taken away this long after it came; at most seven days."
    )


class Reservation(Strict):
    """Capacity from the reservation that the stack file names."""

    kind: Literal["reservation"]


PoolUse = Literal["serving", "standby", "draining"]


class AcceleratorPool(Strict):
    """GPU nodes of one kind."""

    use: PoolUse = Field(
        default="serving",
        description="serving: engine pods may be placed on it. standby: its nodes are there, and no engine pod is "
        "placed on them; with the serving pools' machine type and local SSDs they are made ready, too. draining: "
        "engine pods move off it, onto the serving pools.",
    )
    machine_type: Text = Field(description="A row of stacks/catalog/hardware.")
    nodes: Annotated[Nodes, Field(description="GKE's limit is 1000. With flex_start the most there will be.")]
    local_ssd_count: Annotated[int, Field(ge=0, le=1000)] | None = Field(
        default=None, description="Null: the machine type's own count."
    )
    local_ssd_mode: Literal["ephemeral", "raw_block"] = Field(
        default="ephemeral",
        description="ephemeral: pods' own storage is on it. raw_block: the kit makes one file system of it for weights "
        "and KV tiers alone, and pods' own storage is on the boot disk.",
    )
    boot_disk_gb: Annotated[int, Field(ge=20, le=BOOT_DISK_LIMIT_GB)] = Field(
        description="With local SSD as ephemeral storage, images and pods' own files are there and not on this disk."
    )
    provisioning: Annotated[OnDemand | Spot | FlexStart | Reservation, Field(discriminator="kind")]
    image_disk: DiskImage | None = Field(
        default=None, description="Disk image with container images, attached to each node; null: images are pulled."
    )
    host_maintenance: Annotated[AsNeeded | Periodic, Field(discriminator="kind")] | None = Field(
        default=None, description="Of the machines under the nodes; null: as Google does it for the machine type."
    )
    auto_repair: bool | None = Field(
        default=None,
        description="Whether GKE makes an unhealthy node anew; null: yes, unless provisioning.kind is flex_start.",
    )

    @property
    def repaired(self) -> bool:
        """Whether GKE makes an unhealthy node anew, as written or by default."""
        return self.provisioning.kind != "flex_start" if self.auto_repair is None else self.auto_repair


MOST_POOLS = 8
"""Enough for several blocks of a reservation and their successors; GKE makes pools one after the other."""


def _without_removed(pools: Any) -> Any:
    """Leave out the pools that are null: what lies below had them, and this stack has not."""
    return {name: pool for name, pool in pools.items() if pool is not None} if isinstance(pools, Mapping) else pools


AcceleratorPools = Annotated[
    dict[PoolName, AcceleratorPool],
    Field(max_length=MOST_POOLS, description="By name; null removes a pool of the preset below."),
    BeforeValidator(_without_removed, json_schema_input_type=dict[PoolName, AcceleratorPool | None]),
]
