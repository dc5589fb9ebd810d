"""What a preset says: the intent of one serving stack, in the field's words.

These models are the contract of ``stacks/presets/*.yaml`` and of ``overrides`` in a stack file. They hold intent only;
every number that follows from it (ports, shared memory, pod requests, budgets, timeouts) comes from
``stacks.derive``.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

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

Positive = Annotated[int, Field(gt=0)]
NotNegative = Annotated[int, Field(ge=0)]
Cidr = Annotated[str, StringConstraints(pattern=r"^\d{1,3}(\.\d{1,3}){3}/\d{1,2}$")]
Namespace = Annotated[str, StringConstraints(pattern=r"^[a-z]([a-z0-9-]{0,53}[a-z0-9])?$")]
GkeVersion = Annotated[str, StringConstraints(pattern=r"^\d+\.\d+\.\d+-gke\.\d+$")]


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

    machine_type: str
    nodes: Positive
    boot_disk_gb: Annotated[int, Field(ge=30)]


class OnDemand(Strict):
    """Capacity by the hour, if there is any."""

    kind: Literal["on_demand"]


class Spot(Strict):
    """Preemptible capacity."""

    kind: Literal["spot"]


class Reservation(Strict):
    """Capacity from one named reservation."""

    kind: Literal["reservation"]
    name: str


class AcceleratorPool(Strict):
    """The GPU nodes."""

    machine_type: str = Field(description="A row of stacks/catalog/hardware.")
    nodes: Positive
    local_ssd_count: NotNegative | None = Field(default=None, description="Null: the machine type's own count.")
    boot_disk_gb: Annotated[int, Field(ge=100)]
    provisioning: Annotated[OnDemand | Spot | Reservation, Field(discriminator="kind")]


class Bucket(Strict):
    """Weights in an existing Cloud Storage bucket; readable by the seeding pods through Workload Identity."""

    kind: Literal["bucket"]
    bucket: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$")]
    prefix: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._/-]+$")]


class HuggingFace(Strict):
    """Weights from the Hugging Face hub; once per node, never once per pod."""

    kind: Literal["huggingface"]
    repository: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$")]
    revision: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")] = Field(
        description="Commit of the repository; a branch would change under you."
    )
    token_secret: str | None = Field(
        default=None, description="Secret Manager secret that holds the token (its latest enabled version); null: none."
    )


class Model(Strict):
    """Which weights are served, and where they come from."""

    name: str = Field(description="A row of stacks/catalog/models.")
    checkpoint: str = Field(description="A checkpoint of that row.")
    weights: Annotated[Bucket | HuggingFace, Field(discriminator="kind")]


class Gateway(Strict):
    """How clients reach the router."""

    gateway_class: Literal["gke-l7-rilb", "gke-l7-regional-external-managed"]
    certificate: str | None = Field(
        default=None, description="Regional SSL certificate (pre-shared); null: plain HTTP, internal class only."
    )


class Scorers(Strict):
    """Weights of the router's scorers; 0 leaves one out."""

    prefix_cache: NotNegative
    queue: NotNegative
    kv_cache_utilization: NotNegative


class LlmdRouter(Strict):
    """The llm-d router: endpoint picker behind a GKE Gateway."""

    kind: Literal["llm-d"]
    release: str = Field(description="A row of stacks/catalog/releases.")
    gateway: Gateway
    scorers: Scorers


class VllmEngine(Strict):
    """vLLM workers."""

    kind: Literal["vllm"]
    version: str = Field(description="A row of stacks/catalog/engines.")
    max_sequences: Positive
    batched_tokens: Positive
    gpu_memory_utilization: Annotated[float, Field(gt=0, lt=1)]
    moe_backend: str | None = Field(default=None, description="Null: the engine's choice.")


class Shape(Strict):
    """Replicas and how each spreads over GPUs."""

    replicas: Positive
    tensor_parallel: Positive
    expert_parallel: bool


class NoOffload(Strict):
    """KV cache in GPU memory only."""

    kind: Literal["none"]


class HostDramOffload(Strict):
    """KV blocks evicted from GPU memory move to host DRAM."""

    kind: Literal["host_dram"]
    gib_per_replica: Positive


class LocalSsdOffload(Strict):
    """KV blocks evicted from GPU memory move to local SSD, bounded by capacity."""

    kind: Literal["local_ssd"]
    gib_per_replica: Positive


class KvCache(Strict):
    """The KV cache of every replica."""

    dtype: Literal["auto", "fp8"]
    block_size_tokens: Literal[16, 32, 64, 128]
    offload: Annotated[NoOffload | HostDramOffload | LocalSsdOffload, Field(discriminator="kind")]


class Speculation(Strict):
    """Speculative decoding."""

    drafter: str = Field(description="A drafter of the model's row.")
    tokens: Positive
    weights: Annotated[Bucket | HuggingFace, Field(discriminator="kind")]


class Serving(Strict):
    """Router stack and engine are separate axes; each is chosen by its ``kind``."""

    namespace: Namespace = Field(description="The engine's namespace; seeding runs in <namespace>-weights.")
    router: LlmdRouter
    engine: VllmEngine
    shape: Shape
    context_tokens: Positive
    longest_request_s: Positive = Field(description="Longest request a client may make; every timeout follows from it.")
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
    source: str
    as_of: date
    note: str = ""


class Preset(Strict):
    """One composition of catalog rows."""

    description: str
    production: bool = Field(description="Protected resources, digests required, plain HTTP only inside the VPC.")
    cluster: Cluster
    network: Network
    system_pool: SystemPool
    accelerator_pool: AcceleratorPool
    model: Model
    serving: Serving
    monitoring: Monitoring
    evidence: dict[str, Evidence] = Field(description="Per feature; a feature without a line counts as unverified.")
