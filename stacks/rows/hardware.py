"""Rows about machines: what a node is made of, what GKE asks for on it, how its nodes reach each other."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from stacks.forms import (
    ColumnPath,
    ComputeCapability,
    GkeMinor,
    GkeVersion,
    LabelKey,
    LabelValue,
    Taint,
    Text,
    Topology,
)
from stacks.rows.base import Arch, NotNegative, Positive, Rate, Sourced, Strict

__all__ = ["Fabric", "GkeSupport", "HardwareColumns", "HardwareRow", "MachineShape", "SystemMachineRow"]


class MachineShape(Sourced):
    """What one node is made of."""

    vcpus: Positive
    memory_gb: Positive = Field(description="As the cloud states it; whether that means GB or GiB is not documented.")
    arch: Arch
    network_gbps: Positive


class GpuShape(Sourced):
    """The accelerators of one node."""

    model: Text
    accelerator_type: Text = Field(description="Value of guestAccelerators.type and cloud.google.com/gke-accelerator.")
    count: Positive
    memory_gb_per_gpu: Positive = Field(description="As sold; whether that means GB or GiB is not documented.")
    memory_mib_per_gpu: Positive = Field(description="As the driver reports it; memory arithmetic uses this one.")
    memory_bandwidth_gb_per_s: Positive
    compute_capability: ComputeCapability
    interconnect: Literal["pcie", "nvlink"]
    nccl_p2p_level: Literal["PHB", "SYS"] | None = Field(description="NCCL_P2P_LEVEL; null: leave NCCL's default.")
    fp8_tensor_cores: bool
    fp4_tensor_cores: bool


class LocalSsdShape(Sourced):
    """Local SSD: the one legal count, or none."""

    count: NotNegative
    size_gib: Positive
    attached_by_default: bool


class Throughput(Sourced):
    """Rates that decide how long a node takes to serve; used for startup budgets, never shown as performance."""

    seed_gb_per_s: Rate = Field(description="Object storage to local SSD, one node.")
    load_gb_per_s: Rate = Field(description="Local SSD to GPU memory, one node.")
    compile_s: Positive | None = Field(
        default=None,
        description="A first start compiles kernels for at least this long; null: the engine's own figure.",
    )
    boot_s: Positive = Field(description="From node pool create to a ready node with its GPU driver.")


class GkeSupport(Sourced):
    """What GKE asks for on this machine type."""

    min_version_by_minor: Annotated[dict[GkeMinor, GkeVersion], Field(min_length=1)] = Field(
        description="Floor per minor; a later minor than all listed is fine."
    )
    known_bad_versions: dict[GkeVersion, Text] = Field(
        default_factory=dict, description="Versions above the floor that fail on these nodes, with what happens."
    )
    boot_disk_types: Annotated[list[Text], Field(min_length=1)]
    provisioning: list[Literal["on_demand", "spot", "flex_start", "reservation"]]
    reservation_scope: Literal["reservation", "sub_block"] = Field(
        default="reservation", description="How far down a reservation is named; sub_block: one NVLink domain."
    )
    shielded_nodes: bool = Field(default=True, description="Bare metal has no virtual TPM; the switch is cluster-wide.")
    gvnic: bool = Field(default=True, description="False where the general network card has another driver.")
    managed_dcgm: bool = Field(default=True, description="Whether GKE's own DCGM exporter is known to run here.")
    max_pods_per_node: Positive
    taints: list[Taint] = Field(description="Set by GKE on these nodes, as key=value:effect.")


class Placement(Sourced):
    """The workload policy that keeps all nodes of a pool in one NVLink domain."""

    type: Literal["HIGH_THROUGHPUT"]
    accelerator_topology: Topology


class Fabric(Sourced):
    """How GPUs of different nodes reach each other."""

    transports: list[Text] = Field(description="Rows of stacks/catalog/transports that run on these nodes.")
    nvlink_domain_nodes: Positive = Field(description="Nodes of one NVLink domain, the most a pool can have; 1: none.")
    rdma_devices: NotNegative = Field(description="RDMA devices a node offers as dynamic resources.")
    network_profile: Text | None = Field(default=None, description="networkConfig.acceleratorNetworkProfile.")
    placement: Placement | None = None
    node_labels: dict[LabelKey, LabelValue] = Field(
        default_factory=dict, description="Labels the pool must ask for, or GKE sets up no accelerator network."
    )
    profile_labels: dict[LabelKey, LabelValue] = Field(
        default_factory=dict, description="Labels GKE gives nodes with the profile; workloads select them."
    )
    domain_label: LabelKey | None = Field(
        default=None, description="Node label that is equal within one NVLink domain and different between two."
    )


class Price(Sourced):
    """Public list price of one node; null is unknown and stays unknown."""

    usd_per_hour: Annotated[float, Field(gt=0, le=100_000)] | None
    region: Text


class HardwareRow(Strict):
    """One accelerator machine type."""

    schema_file: ClassVar[str] = "hardware"

    machine_type: Text
    machine: MachineShape
    gpu: GpuShape
    local_ssd: LocalSsdShape
    throughput: Throughput
    fabric: Fabric
    gke: GkeSupport
    price: Price


class HardwareColumns(Strict):
    """Where the figures of a hardware row are found: pages and commands, by group or by single column."""

    schema_file: ClassVar[str] = "hardware-columns"

    look_in: dict[ColumnPath, Text] = Field(
        description="A group of a hardware row, or group.column -> the page, file or command that tells."
    )

    def place_of(self, column: str) -> str:
        """Return where one column is found: its own line, or that of its group."""
        return self.look_in.get(column) or self.look_in[column.partition(".")[0]]


class SystemMachineRow(Strict):
    """One machine type for the small pool that runs routers and operators."""

    schema_file: ClassVar[str] = "system"

    machine_type: Text
    machine: MachineShape
    gke: GkeSupport
    price: Price
