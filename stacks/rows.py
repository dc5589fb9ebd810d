"""Catalog rows: facts about hardware, models, engines and releases, as typed data.

A row is one YAML file under ``stacks/catalog/``. Every group of figures names where it was read and when, and every
figure has its unit in the field name, so that new hardware or a new model is a new file and never a new ``if``.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from stacks.forms import ComputeCapability, DnsLabel, GkeMinor, GkeVersion, Taint, Text, Version

__all__ = [
    "Checkpoint",
    "ContainerUser",
    "Drafter",
    "EngineRow",
    "HardwareRow",
    "HelperImages",
    "ImageRow",
    "ModelRow",
    "ReleaseRow",
    "Sourced",
    "Strict",
    "SystemMachineRow",
]

Positive = Annotated[int, Field(gt=0)]
NotNegative = Annotated[int, Field(ge=0)]
Rate = Annotated[float, Field(ge=0.001, le=100_000)]


class Strict(BaseModel):
    """Base of everything a user writes: no unknown keys, no silent conversions, no changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
    schema_file: ClassVar[str] = ""
    """Of a model that describes a whole file: which of stacks/schemas an editor checks it with."""

    @classmethod
    def schema_source(cls) -> str:
        """Return the file that says what is allowed, for messages."""
        return f"stacks/schemas/{cls.schema_file}.schema.json"


class Sourced(Strict):
    """A group of figures with one origin."""

    source: Text = Field(description="Where the figures were read: a page title with its address, or a derivation.")
    as_of: date = Field(description="Day the source was read or last changed.")


class MachineShape(Sourced):
    """What one node is made of."""

    vcpus: Positive
    memory_gb: Positive = Field(description="As the cloud states it; whether that means GB or GiB is not documented.")
    arch: Literal["amd64", "arm64"]
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
    boot_s: Positive = Field(description="From node pool create to a ready node with its GPU driver.")


class GkeSupport(Sourced):
    """What GKE asks for on this machine type."""

    min_version_by_minor: Annotated[dict[GkeMinor, GkeVersion], Field(min_length=1)] = Field(
        description="Floor per minor; a later minor than all listed is fine."
    )
    boot_disk_types: Annotated[list[Text], Field(min_length=1)]
    provisioning: list[Literal["on_demand", "spot", "flex_start", "reservation"]]
    max_pods_per_node: Positive
    taints: list[Taint] = Field(description="Set by GKE on these nodes, as key=value:effect.")


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
    gke: GkeSupport
    price: Price


class SystemMachineRow(Strict):
    """One machine type for the small pool that runs routers and operators."""

    schema_file: ClassVar[str] = "system"

    machine_type: Text
    machine: MachineShape
    gke: GkeSupport
    price: Price


class Architecture(Sourced):
    """The numbers that decide memory: see ``stacks.memory`` for the formulas."""

    engine_class: Text
    parameters: Positive
    active_parameters: Positive
    hidden_size: Positive
    attention_heads: Positive
    kv_heads: Positive
    head_dim: Positive
    full_attention_layers: Positive
    sliding_attention_layers: NotNegative
    sliding_window_tokens: NotNegative
    experts: NotNegative = Field(description="Routed experts per mixture-of-experts layer; 0 for a dense model.")
    max_context_tokens: Positive


class Checkpoint(Sourced):
    """One set of weights of a model."""

    precision: Literal["bf16", "fp8", "nvfp4"]
    weights_bytes: Positive
    needs: list[Literal["fp8_tensor_cores", "fp4_tensor_cores"]] = Field(default_factory=list)


class Drafter(Sourced):
    """A speculative-decoding draft model that belongs to a model."""

    method: Text = Field(description="The engine's name for the method (vLLM: speculative_config.method).")
    engine_class: Text
    weights_bytes: Positive
    max_speculative_tokens: Positive


class ModelSupport(Sourced):
    """What one engine needs to know to serve a model."""

    first_version: Version
    tensor_parallel: Annotated[list[Positive], Field(min_length=1)]
    arguments: dict[str, str | int | bool] = Field(description="Arguments every worker of this model takes.")
    refuses: dict[str, Text] = Field(default_factory=dict, description="Settings the engine refuses, with its reason.")


class ModelRow(Sourced):
    """One model: its architecture, its checkpoints, its drafters, and which engine serves it from which version."""

    schema_file: ClassVar[str] = "model"

    name: DnsLabel
    title: Text
    served_name: Text
    licence: Text
    architecture: Architecture
    checkpoints: Annotated[dict[DnsLabel, Checkpoint], Field(min_length=1)]
    drafters: dict[DnsLabel, Drafter] = Field(default_factory=dict)
    engines: Annotated[dict[Literal["vllm"], ModelSupport], Field(min_length=1)]


class ImageRow(Sourced):
    """One container image: where it is pulled from. Its digest is in images.lock.yaml."""

    registry: Text
    repository: Text
    tag: Text
    archs: Annotated[list[Literal["amd64", "arm64"]], Field(min_length=1)]


class ContainerUser(Sourced):
    """The unprivileged user an image is made for."""

    uid: Positive
    name: Text


class EngineStartup(Sourced):
    """Parts of an engine's start that do not depend on the weights."""

    image_pull_s: Positive
    compile_s: Positive


class EngineMemory(Sourced):
    """What an engine keeps of GPU memory besides weights and KV cache."""

    overhead_gb_per_gpu: Annotated[float, Field(gt=0, le=1000)]


class EngineOffload(Sourced):
    """How an engine moves KV cache out of GPU memory."""

    blocks_per_chunk: Positive = Field(description="GPU blocks that move together to the host tier.")
    proven_host_tier_gib: Positive = Field(description="Largest host tier of one replica that a public run reports.")


class EngineRow(Sourced):
    """One version of an inference engine; the row's own source is that of its defaults."""

    schema_file: ClassVar[str] = "engine"

    kind: Literal["vllm"]
    version: Version
    image: ImageRow
    user: ContainerUser
    port: Positive
    metrics_path: Text
    startup: EngineStartup
    memory: EngineMemory
    offload: EngineOffload
    moe_backends_by_compute_capability: dict[ComputeCapability, list[Text]] = Field(
        description="NVFP4 mixture-of-experts kernels that run on a compute capability."
    )
    nvfp4_expert_parallel_failed_on: list[ComputeCapability] = Field(
        description="Where NVFP4 experts under expert parallelism are reported to crash."
    )


class RouterPorts(Sourced):
    """Ports of the endpoint picker."""

    ext_proc: Positive
    health: Positive
    metrics: Positive


class RouterSizing(Sourced):
    """Requests of the router's pod."""

    cpu: Positive
    memory_gib: Positive


class PrefixMatching(Sourced):
    """How much of a prompt the router compares with what an engine has cached."""

    default_max_tokens: Positive = Field(description="Longest prefix it compares unless told otherwise.")


class ReleaseRow(Sourced):
    """One release of a router stack: which images and API versions go together."""

    schema_file: ClassVar[str] = "release"

    kind: Literal["llm-d"]
    version: Version
    router_image: ImageRow
    user: ContainerUser
    config_api_version: Text
    inference_pool_api_version: Text
    gke_installs_inference_pool_from: GkeVersion
    ports: RouterPorts
    sizing: RouterSizing
    prefix_matching: PrefixMatching


class HelperImages(Strict):
    """Images that belong to the kit rather than to an engine or a router."""

    schema_file: ClassVar[str] = "helper-images"

    weights_gcs: ImageRow = Field(description="Has gcloud and sh; copies weights out of a bucket.")
