"""Rows about what serves: engines, transports between pods, and the kit's own helpers."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from stacks.forms import ComputeCapability, EnvironmentName, FlagName, Text, Version
from stacks.rows.base import ChartRow, ContainerUser, EngineImage, ImageRow, NotNegative, Positive, Sourced, Strict
from stacks.rows.clients import ServerApis
from stacks.rows.models import EngineKind
from stacks.rows.refusals import Refused, RewrittenPair

__all__ = [
    "EngineRow",
    "HelperCharts",
    "HelperImages",
    "TransportRow",
]


class EngineStartup(Sourced):
    """Parts of an engine's start that do not depend on the weights."""

    image_gib: Positive = Field(description="On disk, unpacked.")
    image_pull_s: Positive
    compile_s: Positive


class EngineMemory(Sourced):
    """What an engine keeps of GPU memory besides weights and KV cache."""

    overhead_gb_per_gpu: Annotated[float, Field(gt=0, le=1000)]


class EngineOffload(Sourced):
    """How an engine moves KV cache out of GPU memory."""

    tiers: list[Literal["host_dram", "local_ssd", "tiered"]] = Field(
        description="Tiers the kit can switch on in this engine; tiered: both, one below the other."
    )
    bounds_ssd_below_dram: bool = Field(
        description="Whether it keeps local SSD below its size where that is under host DRAM; else the evictor does."
    )
    host_tier_in_shm: bool = Field(description="Whether the host tier is mapped in /dev/shm, which must hold it.")
    pod_memory_per_host_tier_byte: Annotated[float, Field(ge=1, le=4)] = Field(description="Pinning can cost more.")
    blocks_per_chunk: Positive | None = Field(description="GPU blocks that move together; null: no such setting.")
    local_ssd_staging_gib_per_rank: NotNegative = Field(
        description="Host memory that blocks pass through on their way to local SSD."
    )
    host_tier_step_gb_per_rank: Positive | None = Field(
        description="What the size of a rank's host tier is a whole number of; null: it is in bytes."
    )
    proven_host_tier_gib: Positive = Field(description="Largest host tier of one replica that a public run reports.")


class EngineGauges(Sourced):
    """Gauges that an engine exports about its requests, one of each kind for a replica without data parallel ranks."""

    running: Text = Field(description="Requests that it computes now.")
    waiting: Text = Field(description="Requests that it has taken and not begun.")


class Owned(Strict):
    """What the kit writes itself, so that nobody writes it a second time: which key it follows from."""

    arguments: dict[FlagName, Text] = Field(description="By flag, aliases too: a key of the preset, or words.")
    argument_prefixes: dict[Text, Text] = Field(
        default_factory=dict, description="What further flags follow from, by how they begin; the first that fits."
    )
    environment: list[EnvironmentName]
    environment_prefixes: dict[Text, Text] = Field(
        default_factory=dict, description="What further variables follow from, by how they begin; the first that fits."
    )


class EngineRow(Sourced):
    """One version of an inference engine; the row's own source is that of its defaults."""

    schema_file: ClassVar[str] = "engine"

    kind: EngineKind
    version: Version
    image: EngineImage | None = Field(description="Null: run only from the image of a router release that brings it.")
    user: ContainerUser | None
    port: Positive
    metrics_path: Text
    gauges: EngineGauges | None = Field(default=None, description="What replicas can be scaled by; null: unknown.")
    apis: ServerApis | None = Field(description="Null: the kit does not run its server.")
    startup: EngineStartup
    memory: EngineMemory
    offload: EngineOffload
    moe_backends_by_compute_capability: dict[ComputeCapability, list[Text]] = Field(
        description="NVFP4 mixture-of-experts kernels that run on a compute capability."
    )
    fp8_kv_cache_refused_on: list[ComputeCapability] = Field(
        description="Where its attention kernels do not read an FP8 KV cache."
    )
    unbounded_drafter_kv_bf16_on: list[ComputeCapability] = Field(
        default_factory=list,
        description="Where a drafter without a sliding window keeps its KV cache in bf16, whatever the target's is.",
    )
    nvfp4_expert_parallel_failed_on: list[ComputeCapability] = Field(
        description="Where NVFP4 experts under expert parallelism are reported to crash."
    )
    no_prefix_cache_arguments: list[FlagName] = Field(
        default_factory=list, description="Switch the prefix cache off, which tiers and routing by prefix need."
    )
    owned: Owned
    refused_arguments: dict[FlagName, Refused] = Field(
        default_factory=dict, description="Arguments that have no place in a stack of this kit, whatever the model."
    )
    rewritten_pairs: list[RewrittenPair] = Field(
        default_factory=list, description="Arguments of which the engine changes one by itself."
    )
    refused_environment: dict[EnvironmentName, Refused] = Field(
        default_factory=dict, description="Variables that must not be set in a stack that serves."
    )


class TransportRow(Sourced):
    """How pods of different nodes exchange tensors: claims, environment, node agents and memory, switched together."""

    schema_file: ClassVar[str] = "transport"

    name: Text
    compute_domain: bool = Field(description="Pods share GPU memory over NVLink and claim an IMEX channel.")
    rdma_device_class: Text | None = Field(description="DeviceClass of the RDMA devices a pod claims; null: none.")
    node_agent: Literal["asapd_lite"] | None = Field(description="A row of helper-images, run on every node.")
    hugepages_2mi_per_node: NotNegative = Field(description="Huge pages of 2 MiB the node agent takes.")
    capabilities: list[Text] = Field(description="Linux capabilities a pod needs, beyond what restricted admits.")
    environment: dict[EnvironmentName, str] = Field(description="Of every engine container.")
    environment_by_engine: dict[EngineKind, dict[EnvironmentName, str]] = Field(default_factory=dict)
    kv_environment: dict[Text, dict[EnvironmentName, str]] = Field(
        default_factory=dict, description="By backend that moves KV cache: variables of workers that do."
    )
    kv_transfer: dict[EngineKind, Text] = Field(
        description="The engine's name for the backend that moves KV cache from prefill to decode workers here."
    )
    kv_arguments: dict[EngineKind, dict[FlagName, str | int | float | bool]] = Field(
        default_factory=dict, description="Flags of the engine's workers that move KV cache here."
    )
    collectives: bool = Field(description="Whether one replica may span nodes over it.")

    def variables(self, engine: EngineKind, *, moves_kv: bool) -> dict[EnvironmentName, str]:
        """Variables of an engine's containers; ``moves_kv``: of workers that hand KV cache over, or take it."""
        own = {**self.environment, **self.environment_by_engine.get(engine, {})}
        return {**own, **self.kv_environment.get(self.kv_transfer.get(engine, ""), {})} if moves_kv else own


class HelperImages(Strict):
    """Images that belong to the kit rather than to an engine or a router."""

    schema_file: ClassVar[str] = "helper-images"

    weights_gcs: ImageRow = Field(description="Has gcloud and sh; copies weights out of a bucket.")
    asapd_lite: ImageRow = Field(description="Google's agent that brings up RDMA network cards on bare metal.")


class HelperCharts(Strict):
    """Charts that belong to the kit rather than to a router release."""

    schema_file: ClassVar[str] = "helper-charts"

    dra_driver: ChartRow = Field(description="NVIDIA's driver for ComputeDomains.")
    leader_worker_set: ChartRow = Field(description="The controller of replicas that span nodes, for llm-d.")
