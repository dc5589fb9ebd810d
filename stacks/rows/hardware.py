"""Rows about machines: what a node is made of, what GKE asks for on it, how its nodes reach each other."""

from __future__ import annotations

from datetime import date
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from stacks.forms import (
    ColumnPath,
    ComputeCapability,
    CudaVersion,
    DriverVersion,
    GkeMinor,
    GkeVersion,
    LabelKey,
    LabelValue,
    NetworkProfile,
    QuotaMetric,
    Region,
    Taint,
    Text,
    Topology,
    ZoneLetter,
)
from stacks.rows.base import Arch, NotNegative, Positive, Rate, Sourced, Strict

__all__ = [
    "AcceleratorPrice",
    "Fabric",
    "GkeSupport",
    "HardwareColumns",
    "HardwareRow",
    "MachineShape",
    "SystemMachineRow",
]

Usd = Annotated[float, Field(gt=0, le=100_000)]


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
    min_driver: DriverVersion = Field(description="Oldest NVIDIA driver, or branch of drivers, that runs these GPUs.")
    min_cuda: CudaVersion = Field(description="Oldest CUDA an engine's image may be built with to run on them.")
    interconnect: Literal["pcie", "nvlink"]
    nccl_p2p_level: Literal["PHB", "SYS"] | None = Field(description="NCCL_P2P_LEVEL; null: leave NCCL's default.")
    fp8_tensor_cores: bool
    fp4_tensor_cores: bool


class NicGroup(Strict):
    """Network interfaces of one kind; a card with two ports counts as two."""

    count: Positive
    gbps: Positive = Field(description="Of each.")
    purpose: Literal["general", "accelerator"] = Field(description="The node's own traffic, or that between its GPUs.")
    driver: Literal["gvnic", "idpf", "mlx5"] = Field(description="mlx5: RDMA over Converged Ethernet.")


class NetworkShape(Sourced):
    """The network interfaces of one node."""

    nics: Annotated[list[NicGroup], Field(min_length=1)]

    @property
    def gbps(self) -> int:
        """All interfaces together."""
        return sum(group.count * group.gbps for group in self.nics)

    @property
    def gvnic(self) -> bool:
        """Whether the node's own traffic goes through gVNIC."""
        return all(group.driver == "gvnic" for group in self.nics if group.purpose == "general")

    @property
    def rdma_interfaces(self) -> int:
        """RDMA interfaces, each of them one dynamic resource that a pod can claim."""
        return sum(group.count for group in self.nics if group.driver == "mlx5")


class LocalSsdShape(Sourced):
    """Local SSD: the one legal count, or none."""

    count: NotNegative
    size_gib: Positive
    attached_by_default: bool
    modes: list[Literal["ephemeral", "raw_block"]] = Field(
        description="As what a pool can have them: behind ephemeral storage, or as block devices."
    )


class DataDisks(Sourced):
    """Network disks for data."""

    types: Annotated[list[Text], Field(min_length=1)] = Field(
        description="Documented to attach to these nodes; a type that is left out is not known to."
    )
    hyperdisk_ml_made_from: date | None = Field(
        default=None, description="Hyperdisk ML volumes made before this day cannot be attached; null: any can."
    )


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
    managed_dcgm: bool = Field(default=True, description="Whether GKE's own DCGM exporter is known to run here.")
    periodic_maintenance: bool = Field(
        default=False, description="Whether a pool of these nodes is known to take PERIODIC host maintenance."
    )
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
    network_profile: Text | None = Field(default=None, description="networkConfig.acceleratorNetworkProfile.")
    network_profile_from: GkeVersion | None = Field(
        default=None, description="First GKE version whose managed DRANET makes the profile's networks."
    )
    roce_network_profile: NetworkProfile | None = Field(
        default=None,
        description="Compute Engine's network profile of an RDMA network that is one's own, {zone} to be filled in. A "
        "zone without it has no such machines: only preflight can know.",
    )
    placement: Placement | None = None
    compact_placement: bool = Field(
        default=False, description="Whether GKE takes a compact placement policy for a pool of these nodes."
    )
    node_labels: dict[LabelKey, LabelValue] = Field(
        default_factory=dict, description="Labels the pool must ask for, or GKE sets up no accelerator network."
    )
    profile_labels: dict[LabelKey, LabelValue] = Field(
        default_factory=dict, description="Labels GKE gives nodes with the profile; workloads select them."
    )
    domain_label: LabelKey | None = Field(
        default=None, description="Node label that is equal within one NVLink domain and different between two."
    )


class Allocatable(Sourced):
    """What somebody saw a node of this type leave to pods; the formulas of stacks/memory.py are held against it."""

    memory_gib: Positive
    cpu_millicores: Positive | None = Field(default=None, description="Null: not reported.")


class Quota(Sourced):
    """Regional quotas of Compute Engine that the GPUs of a pool count against; preflight asks the project for them."""

    gpus: QuotaMetric | None = Field(description="On demand; null: capacity comes from reservations, which are it.")
    preemptible_gpus: QuotaMetric | None = Field(description="Spot and flex-start; null: neither is offered.")


class Locations(Sourced):
    """Where the machine type was seen to be offered; no promise, so a plan only warns, and preflight asks."""

    zones: Annotated[dict[Region, list[ZoneLetter]], Field(min_length=1)] = Field(
        description="Letters of the zones by region; none: somewhere in the region."
    )

    def offers(self, zone: str) -> bool:
        """Whether ``zone`` is among them."""
        region, _, letter = zone.rpartition("-")
        return region in self.zones and letter in (self.zones[region] or [letter])

    def names(self) -> list[str]:
        """Return the zones, and regions whose letters are not known, by name."""
        return [name for region, letters in self.zones.items() for name in _zones(region, letters)]


def _zones(region: str, letters: list[str]) -> list[str]:
    return [f"{region}-{letter}" for letter in letters] or [region]


class Price(Sourced):
    """Public list price of one node; null is unknown and stays unknown."""

    usd_per_hour: Usd | None
    region: Text


class AcceleratorPrice(Price):
    """Its on-demand price is ``usd_per_hour``."""

    spot_usd_per_hour: Usd | None
    one_year_usd_per_hour: Usd | None = Field(description="With a commitment of a year.")
    three_years_usd_per_hour: Usd | None = Field(description="With a commitment of three years.")


class HardwareRow(Strict):
    """One accelerator machine type."""

    schema_file: ClassVar[str] = "hardware"

    machine_type: Text
    machine: MachineShape
    network: NetworkShape
    gpu: GpuShape
    local_ssd: LocalSsdShape
    data_disks: DataDisks
    throughput: Throughput
    fabric: Fabric
    gke: GkeSupport
    allocatable: Allocatable | None = Field(default=None, description="Null: nobody published what such a node leaves.")
    quota: Quota
    locations: Locations
    price: AcceleratorPrice


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
