"""What a preset says about serving: router stack, engine, shape, KV cache, speculation.

Router stack and engine are separate axes; each is chosen by its ``kind``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from stacks.forms import (
    CertificateName,
    DnsLabel,
    EnvironmentName,
    FlagName,
    Namespace,
    OauthClientId,
    ResourceName,
    Text,
    Version,
)
from stacks.rows import Strict
from stacks.spec.routing import Routing
from stacks.spec.scaling import Scaling
from stacks.spec.weights import WeightSource

__all__ = [
    "Aggregated",
    "DynamoRouter",
    "Gateway",
    "HostDramOffload",
    "IdentityAwareProxy",
    "KvCache",
    "LlmdRouter",
    "LocalSsdOffload",
    "NoAuthentication",
    "NoOffload",
    "PrefillDecode",
    "Serving",
    "SglangEngine",
    "Speculation",
    "TieredOffload",
    "Transport",
    "VllmEngine",
]

Count = Annotated[int, Field(gt=0, le=10_000)]
Tokens = Annotated[int, Field(gt=0, le=100_000_000)]
TierGib = Annotated[int, Field(gt=0, le=1_000_000)]
ExtraArguments = Annotated[
    dict[FlagName, str | int | float | bool],
    Field(description="Flags of the engine that the kit has no key for, without dashes; false leaves a switch out."),
]
ExtraEnvironment = Annotated[
    dict[EnvironmentName, str], Field(description="Variables of the engine that the kit has no key for.")
]


class IdentityAwareProxy(Strict):
    """Callers prove a Google identity, and IAM says which of them may pass. Until IAM does, nobody may."""

    kind: Literal["iap"]
    client_id: OauthClientId = Field(description="OAuth client of the project; tokens are made out to it.")
    client_secret: DnsLabel = Field(
        description="Kubernetes Secret in the engine's namespace that holds the client's secret under 'key'."
    )


class NoAuthentication(Strict):
    """Whoever reaches the address may ask. Written, not assumed; refused where the internet reaches it."""

    kind: Literal["none"]
    reason: Text = Field(description="Why that will do, for whoever reads the preset.")


class Gateway(Strict):
    """How clients reach the router, and how they prove who they are."""

    gateway_class: Literal["gke-l7-rilb", "gke-l7-regional-external-managed"]
    certificate: CertificateName | None = Field(
        default=None, description="Regional SSL certificate (pre-shared); null: plain HTTP, internal class only."
    )
    authentication: Annotated[IdentityAwareProxy | NoAuthentication, Field(discriminator="kind")]
    security_policy: ResourceName | None = Field(
        default=None,
        description="Cloud Armor policy of the region: which addresses may ask, and how often; null: none.",
    )


class LlmdRouter(Strict):
    """The llm-d router: an endpoint picker behind a GKE Gateway."""

    kind: Literal["llm-d"]
    release: Version = Field(description="A row of stacks/catalog/llmd_releases.")
    gateway: Gateway
    replicas: Annotated[int, Field(gt=0, le=100)] = Field(
        default=1,
        description="Of the endpoint picker; what it remembers (sessions, queues, prefixes) is each one's own.",
    )
    proxy: Literal["gateway", "envoy"] = Field(
        default="gateway",
        description="Who asks the picker and sends to the engine it names. gateway: GKE's load balancer. envoy: an "
        "Envoy in the picker's pod, to which the load balancer sends everything.",
    )


class DynamoRouter(Strict):
    """NVIDIA Dynamo: its operator, and a frontend that routes to its workers."""

    kind: Literal["dynamo"]
    release: Version = Field(description="A row of stacks/catalog/dynamo_releases.")
    gateway: Gateway
    frontends: Annotated[int, Field(gt=0, le=100)] = Field(description="Replicas of the frontend.")


class EngineSettings(Strict):
    """What every engine can be told."""

    version: Version = Field(description="A row of stacks/catalog/engines.")
    max_waiting_requests: Count | None = Field(
        default=None,
        description="Requests that may wait in one replica, beside those that run; more are refused at once. Dynamo's "
        "router, where it queues, takes it for each band. Null: as many as come.",
    )
    extra_arguments: ExtraArguments = Field(default_factory=dict)
    extra_environment: ExtraEnvironment = Field(default_factory=dict)


class VllmEngine(EngineSettings):
    """vLLM workers."""

    kind: Literal["vllm"]
    max_sequences: Count
    batched_tokens: Tokens
    gpu_memory_utilization: Annotated[float, Field(gt=0, lt=1)]
    moe_backend: Text | None = Field(default=None, description="Null: the engine's choice.")
    window_checkpoint_tokens: Tokens | None = Field(
        default=None,
        description="Sliding windows are kept for prefix hits every so many tokens only, vLLM: "
        "prefix-cache-retention-interval. Null: the engine's choice.",
    )
    kv_free_share: Annotated[float, Field(ge=0.001, le=0.5)] | None = Field(
        default=None,
        description="Share of the KV blocks that has to stay free when a request starts, so that others grow; vLLM: "
        "watermark. Null: none, and vLLM stops and recomputes requests when blocks run out.",
    )


class SglangEngine(EngineSettings):
    """SGLang workers."""

    kind: Literal["sglang"]
    max_sequences: Count = Field(description="SGLang: max-running-requests.")
    batched_tokens: Tokens = Field(description="SGLang: chunked-prefill-size and max-prefill-tokens.")
    gpu_memory_utilization: Annotated[float, Field(gt=0, lt=1)] = Field(description="SGLang: mem-fraction-static.")
    swa_full_tokens_ratio: Annotated[float, Field(gt=0, le=1)] = Field(
        description="Tokens of sliding-window cache per token of full cache; SGLang's own 0.8 wastes most of the pool."
    )


class Aggregated(Strict):
    """Every replica does prefill and decode."""

    kind: Literal["aggregated"]
    replicas: Count
    tensor_parallel: Count
    data_parallel: Count = Field(
        default=1,
        description="Attention ranks that share a replica's experts and no KV cache. vLLM: a replica has "
        "tensor_parallel x data_parallel GPUs; SGLang: it has tensor_parallel, and attention is split over them.",
    )
    expert_parallel: bool


class PrefillDecode(Strict):
    """Prefill and decode on replicas of their own; KV cache moves from one to the other."""

    kind: Literal["prefill_decode"]
    prefill_replicas: Count
    decode_replicas: Count
    tensor_parallel: Count
    expert_parallel: bool
    from_uncached_tokens: Annotated[int, Field(ge=0, le=100_000_000)] | None = Field(
        default=None,
        description="A prompt with fewer tokens left to compute stays on its decode replica; null: every prompt goes "
        "through a prefill replica.",
    )


class Transport(Strict):
    """How pods of different nodes exchange tensors."""

    name: Text = Field(description="A row of stacks/catalog/transports.")
    compute_domain_nodes: Annotated[int, Field(ge=0, le=1000)] | None = Field(
        default=None,
        description="Nodes a ComputeDomain waits for before its pods start; null or 0: it grows with its pods.",
    )
    rdma_devices_per_pod: Count | None = Field(
        default=None, description="Null: the pod's share of the node's devices, by GPUs."
    )


class _Tiers(Strict):
    """Where KV blocks move from GPU memory."""

    @property
    def host_dram_gib(self) -> int:
        """Of one replica; 0: no such tier."""
        return 0

    @property
    def local_ssd_gib(self) -> int:
        """Of one replica; 0: no such tier."""
        return 0


class NoOffload(_Tiers):
    """KV cache in GPU memory only."""

    kind: Literal["none"]


class HostDramOffload(_Tiers):
    """KV blocks evicted from GPU memory move to host DRAM."""

    kind: Literal["host_dram"]
    gib_per_replica: TierGib

    @property
    def host_dram_gib(self) -> int:
        """Of one replica."""
        return self.gib_per_replica


class LocalSsdOffload(_Tiers):
    """KV blocks evicted from GPU memory move to local SSD, bounded by capacity."""

    kind: Literal["local_ssd"]
    gib_per_replica: TierGib

    @property
    def local_ssd_gib(self) -> int:
        """Of one replica."""
        return self.gib_per_replica


class TieredOffload(_Tiers):
    """KV blocks move to host DRAM, and from there to local SSD."""

    kind: Literal["tiered"]
    host_dram_gib_per_replica: TierGib
    local_ssd_gib_per_replica: TierGib

    @property
    def host_dram_gib(self) -> int:
        """Of one replica."""
        return self.host_dram_gib_per_replica

    @property
    def local_ssd_gib(self) -> int:
        """Of one replica."""
        return self.local_ssd_gib_per_replica


class KvCache(Strict):
    """The KV cache of every replica."""

    dtype: Literal["auto", "fp8"]
    block_size_tokens: Literal[16, 32, 64, 128]
    offload: Annotated[NoOffload | HostDramOffload | LocalSsdOffload | TieredOffload, Field(discriminator="kind")]


class Speculation(Strict):
    """Speculative decoding."""

    drafter: Text = Field(description="A drafter of the model's row.")
    tokens: Count
    weights: WeightSource


class Serving(Strict):
    """Router stack and engine are separate axes; each is chosen by its ``kind``."""

    namespace: Namespace = Field(description="The engine's namespace; seeding runs in <namespace>-weights.")
    existing_namespace: bool = Field(default=False, description="Whether the engine's namespace is there already.")
    router: Annotated[LlmdRouter | DynamoRouter, Field(discriminator="kind")]
    routing: Routing
    engine: Annotated[VllmEngine | SglangEngine, Field(discriminator="kind")]
    shape: Annotated[Aggregated | PrefillDecode, Field(discriminator="kind")]
    scaling: Scaling | None = Field(default=None, description="Null: as many replicas as the shape says, always.")
    transport: Transport | None = Field(default=None, description="Null: pods of different nodes share nothing.")
    context_tokens: Tokens
    longest_request_s: Annotated[int, Field(gt=0, le=86_400)] = Field(
        description="Longest request a client may make; every timeout follows from it."
    )
    kv_cache: KvCache
    speculation: Speculation | None = None
    wait: Literal["ready", "accepted"] = Field(
        default="ready", description="ready: up ends when every workload serves; accepted: when the API took it."
    )
