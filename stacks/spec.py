"""What a preset says: the intent of one serving stack, in the field's words.

These models are the contract of ``stacks/presets/*.yaml`` and of ``overrides`` in a stack file. They hold intent only;
every number that follows from it (ports, shared memory, pod requests, budgets, timeouts) comes from
``stacks.derive``.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from stacks.forms import (
    BucketName,
    CertificateName,
    Cidr,
    FeatureName,
    GkeVersion,
    HubRepository,
    HubRevision,
    Namespace,
    ObjectPrefix,
    ReservationName,
    SecretId,
    Text,
    Version,
)
from stacks.rows import Strict

__all__ = [
    "AcceleratorPool",
    "Bucket",
    "Cluster",
    "Evidence",
    "Gateway",
    "HostDramOffload",
    "HuggingFace",
    "KvCache",
    "LlmdRouter",
    "LocalSsdOffload",
    "Model",
    "Monitoring",
    "Network",
    "NoOffload",
    "Preset",
    "Serving",
    "Shape",
    "Speculation",
    "SystemPool",
    "VllmEngine",
]

Nodes = Annotated[int, Field(gt=0, le=1000, description="GKE's limit is 1000 nodes a pool.")]
Count = Annotated[int, Field(gt=0, le=10_000)]
Tokens = Annotated[int, Field(gt=0, le=100_000_000)]
TierGib = Annotated[int, Field(gt=0, le=1_000_000)]
Weight = Annotated[int, Field(ge=0, le=1000)]
BOOT_DISK_LIMIT_GB = 65_536
"""64 TiB: no disk of Compute Engine is larger."""


class Cluster(Strict):
    """The GKE cluster. Nodes are private, the control plane is reached by its IAM-guarded DNS endpoint."""

    version: GkeVersion = Field(description="Exact version of control plane and nodes, x.y.z-gke.n.")
    release_channel: Literal["RAPID", "REGULAR", "STABLE", "EXTENDED"]


class Network(Strict):
    """Address plan of the VPC the stack creates."""

    mtu: Annotated[int, Field(ge=1300, le=8896)]
    nodes_cidr: Cidr
    pods_cidr: Cidr
    services_cidr: Cidr
    proxy_only_cidr: Cidr = Field(description="Envoy proxies of the regional Gateway classes; /26 or larger.")


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


class Reservation(Strict):
    """Capacity from one named reservation."""

    kind: Literal["reservation"]
    name: ReservationName


class AcceleratorPool(Strict):
    """The GPU nodes."""

    machine_type: Text = Field(description="A row of stacks/catalog/hardware.")
    nodes: Nodes
    local_ssd_count: Annotated[int, Field(ge=0, le=1000)] | None = Field(
        default=None, description="Null: the machine type's own count."
    )
    boot_disk_gb: Annotated[int, Field(ge=100, le=BOOT_DISK_LIMIT_GB)]
    provisioning: Annotated[OnDemand | Spot | Reservation, Field(discriminator="kind")]


class Bucket(Strict):
    """Weights in an existing Cloud Storage bucket; readable by the seeding pods through Workload Identity."""

    kind: Literal["bucket"]
    bucket: BucketName
    prefix: ObjectPrefix


class HuggingFace(Strict):
    """Weights from the Hugging Face hub; once per node, never once per pod."""

    kind: Literal["huggingface"]
    repository: HubRepository
    revision: HubRevision = Field(description="Commit of the repository; a branch would change under you.")
    token_secret: SecretId | None = Field(
        default=None, description="Secret Manager secret that holds the token (its latest enabled version); null: none."
    )


class Model(Strict):
    """Which weights are served, and where they come from."""

    name: Text = Field(description="A row of stacks/catalog/models.")
    checkpoint: Text = Field(description="A checkpoint of that row.")
    weights: Annotated[Bucket | HuggingFace, Field(discriminator="kind")]


class Gateway(Strict):
    """How clients reach the router."""

    gateway_class: Literal["gke-l7-rilb", "gke-l7-regional-external-managed"]
    certificate: CertificateName | None = Field(
        default=None, description="Regional SSL certificate (pre-shared); null: plain HTTP, internal class only."
    )


class Scorers(Strict):
    """Weights of the router's scorers; 0 leaves one out."""

    prefix_cache: Weight
    queue: Weight
    kv_cache_utilization: Weight


class LlmdRouter(Strict):
    """The llm-d router: endpoint picker behind a GKE Gateway."""

    kind: Literal["llm-d"]
    release: Version = Field(description="A row of stacks/catalog/releases.")
    gateway: Gateway
    scorers: Scorers


class VllmEngine(Strict):
    """vLLM workers."""

    kind: Literal["vllm"]
    version: Version = Field(description="A row of stacks/catalog/engines.")
    max_sequences: Count
    batched_tokens: Tokens
    gpu_memory_utilization: Annotated[float, Field(gt=0, lt=1)]
    moe_backend: Text | None = Field(default=None, description="Null: the engine's choice.")


class Shape(Strict):
    """Replicas and how each spreads over GPUs."""

    replicas: Count
    tensor_parallel: Count
    expert_parallel: bool


class NoOffload(Strict):
    """KV cache in GPU memory only."""

    kind: Literal["none"]


class HostDramOffload(Strict):
    """KV blocks evicted from GPU memory move to host DRAM."""

    kind: Literal["host_dram"]
    gib_per_replica: TierGib


class LocalSsdOffload(Strict):
    """KV blocks evicted from GPU memory move to local SSD, bounded by capacity."""

    kind: Literal["local_ssd"]
    gib_per_replica: TierGib


class KvCache(Strict):
    """The KV cache of every replica."""

    dtype: Literal["auto", "fp8"]
    block_size_tokens: Literal[16, 32, 64, 128]
    offload: Annotated[NoOffload | HostDramOffload | LocalSsdOffload, Field(discriminator="kind")]


class Speculation(Strict):
    """Speculative decoding."""

    drafter: Text = Field(description="A drafter of the model's row.")
    tokens: Count
    weights: Annotated[Bucket | HuggingFace, Field(discriminator="kind")]


class Serving(Strict):
    """Router stack and engine are separate axes; each is chosen by its ``kind``."""

    namespace: Namespace = Field(description="The engine's namespace; seeding runs in <namespace>-weights.")
    router: LlmdRouter
    engine: VllmEngine
    shape: Shape
    context_tokens: Tokens
    longest_request_s: Annotated[int, Field(gt=0, le=86_400)] = Field(
        description="Longest request a client may make; every timeout follows from it."
    )
    kv_cache: KvCache
    speculation: Speculation | None = None
    wait: Literal["ready", "accepted"] = Field(
        default="ready", description="ready: up ends when every workload serves; accepted: when the API took it."
    )


class Monitoring(Strict):
    """Managed Prometheus scraping of engine and router."""

    scrape_interval_s: Annotated[int, Field(ge=5, le=300)]


class Evidence(Strict):
    """How we know that one feature works on this preset."""

    status: Literal["measured", "documented", "derived", "unverified"]
    source: Text
    as_of: date
    note: str = ""


class Preset(Strict):
    """One composition of catalog rows."""

    schema_file: ClassVar[str] = "preset"

    description: Text
    production: bool = Field(description="Protected resources, digests required, plain HTTP only inside the VPC.")
    cluster: Cluster
    network: Network
    system_pool: SystemPool
    accelerator_pool: AcceleratorPool
    model: Model
    serving: Serving
    monitoring: Monitoring
    evidence: dict[FeatureName, Evidence] = Field(
        description="Per feature; a feature without a line counts as unverified."
    )
