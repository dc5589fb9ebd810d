"""The numbers that follow from a preset, each with its unit and its formula beside it, and what the formulas assume."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from stacks.pools import STARTUP_SAFETY

__all__ = [
    "CACHE_GIB_PER_REPLICA",
    "CPUS_PER_GPU",
    "DRAIN_PAUSE_S",
    "FILE_SYSTEM_SHARE",
    "GATEWAY_PROGRAMMING_S",
    "LEAST_REQUEST_LIMIT_MIB",
    "LONGEST_SCALE_PERIOD_S",
    "LONGEST_SCALE_WINDOW_S",
    "LOOKAHEAD",
    "MARGIN_S",
    "MAX_BACKEND_DRAIN_S",
    "OPERATOR_START_S",
    "PICKER_ANSWER_S",
    "PROCESS_GIB_PER_GPU",
    "PROXY_BYTES_PER_TOKEN",
    "PROXY_KEEP_ALIVE_S",
    "QUEUE_SHARE",
    "REQUEST_BYTES_PER_TOKEN",
    "SHM_FILL",
    "SHM_GIB_PER_GPU",
    "SYSTEM_RESERVE_GIB",
    "Derived",
]

DRAIN_PAUSE_S = 15
"""preStop pause: load balancers need a moment to stop sending to a pod that is going."""
PICKER_ANSWER_S = 60
"""For the picker to read and tokenize a prompt and to choose, beside waiting for a place (assumed)."""
REQUEST_BYTES_PER_TOKEN = 32
"""Room for a token of a request: 4 bytes of English or code, 12 of other scripts, twice that with JSON's escapes."""
LEAST_REQUEST_LIMIT_MIB = 32
"""Dynamo's own limit of a message to a worker; tool definitions and the like fit in it whatever the context is."""
SYSTEM_RESERVE_GIB = 4
"""Of a system node's memory: what GKE's agents and the operators of a stack take."""
OPERATOR_START_S = 300
"""An operator's image is small; its webhooks and its kinds take a while to be served."""
GATEWAY_PROGRAMMING_S = 300
"""GKE's Gateway controller takes minutes to make a load balancer, its proxies and its network endpoint groups."""
PROXY_KEEP_ALIVE_S = 600
"""Google's proxies keep idle connections to a backend this long (Cloud Load Balancing docs, HTTP keepalive timeout)."""
MAX_BACKEND_DRAIN_S = 3600
"""Longest connection draining of a Google backend service (GCPBackendPolicy, drainingTimeoutSec)."""
LONGEST_SCALE_WINDOW_S = 3600
"""Longest stabilization window of a HorizontalPodAutoscaler (Kubernetes API, autoscaling/v2)."""
LONGEST_SCALE_PERIOD_S = 1800
"""Longest period of a HorizontalPodAutoscaler's policy (Kubernetes API, autoscaling/v2)."""
MARGIN_S = 15
"""Between one deadline and the next outer one, so that the inner one always fires first."""
LOOKAHEAD = 0.04
"""Places beyond the running sequences: the next request is at the engine when one ends (llm-d guides, flow control
tuning: 133 for 128)."""
PROXY_BYTES_PER_TOKEN = 40
"""Of a prompt: four bytes of text a token, read into maps and written twice, for one engine each (assumed)."""
QUEUE_SHARE = 0.25
"""Of the router's memory: a waiting request is there as text and as what was read from it (llm-d guides: 4 of 16)."""
CPUS_PER_GPU = 8
SHM_GIB_PER_GPU = 2
PROCESS_GIB_PER_GPU = 8
CACHE_GIB_PER_REPLICA = 20
"""torch.compile, Triton and FlashInfer caches of one replica, on ephemeral storage."""
FILE_SYSTEM_SHARE = 0.95
"""Of a local SSD what its file system has room for: ext4's own tables take less than 2 %, the rest is margin."""
SHM_FILL = 0.9
"""Share of /dev/shm the offload tier may take: vLLM maps its host tier there and checks free space at start."""


def _value(unit: str, formula: str) -> Any:
    return field(metadata={"unit": unit, "formula": formula})


@dataclass(frozen=True)
class Derived:
    """All derived values of one stack."""

    replicas: int = _value("replicas", "of all roles")
    gpus_per_replica: int = _value("GPUs", "vLLM: tensor_parallel x data_parallel; SGLang: tensor_parallel")
    nodes_per_replica: int = _value("nodes", "gpus_per_replica / GPUs per node, rounded up")
    gpus_per_pod: int = _value("GPUs", "gpus_per_replica / nodes_per_replica")
    replicas_per_node: int = _value("replicas", "GPUs per node / gpus_per_replica, at least 1")
    nodes_needed: int = _value(
        "nodes", "of the serving pools: replicas x nodes_per_replica / replicas_per_node, rounded up"
    )
    local_ssd_count: int = _value("disks", "of a serving pool: its local_ssd_count, else the machine type's own count")
    local_ssd_gib_per_node: int = _value("GiB", "local_ssd_count x disk size")
    allocatable_cpu_millicores: int = _value("millicores", "vCPUs less GKE's reservation (6 %, 1 %, 0.5 %, 0.25 %)")
    allocatable_memory_gib: int = _value("GiB", "memory less GKE's reservation (25, 20, 10, 6, 2 % bands + 100 MiB)")
    allocatable_ephemeral_gib: int = _value(
        "GiB",
        "ephemeral: 0.9 x local SSD less 50, 75 or 100 GiB; raw block: 0.9 x boot disk less the least of 0.5, "
        "6 GiB + 0.35, 100 GiB",
    )
    raw_block_gib: int | None = _value(
        "GiB", f"{FILE_SYSTEM_SHARE} x local SSD, for weights and KV tiers; null: local SSD is ephemeral storage"
    )
    weights_bytes: int = _value("bytes", "checkpoint + drafter")
    weights_bytes_per_gpu: int = _value("bytes", "weights_bytes / gpus_per_replica")
    kv_bytes_per_token: int = _value("bytes", "full layers x 2 x KV heads x head dim x element bytes")
    kv_window_bytes_per_sequence: int = _value(
        "bytes", "sliding layers x 2 x KV heads x head dim x element bytes x window"
    )
    kv_room_bytes_per_replica: int = _value(
        "bytes", "(GPU memory x gpu_memory_utilization - weights_bytes_per_gpu - engine overhead) x gpus_per_replica"
    )
    kv_tokens_per_replica: int = _value(
        "tokens",
        "as the engine counts (docs/kv-blocks.md). vLLM: blocks / blocks of a request x context_tokens; a block is "
        "block_size_tokens in as many layers as the rarest kind has, a request takes context_tokens / "
        "block_size_tokens for each group of full layers, and (window - 1 + 2 x batched_tokens) / block_size_tokens "
        "+ 1 for each of sliding ones. SGLang: kv_room_bytes_per_replica / bytes of a token in full layers, a "
        "drafter's, and swa_full_tokens_ratio of the sliding ones, in whole pages",
    )
    decode_kv_tokens_per_replica: int | None = _value(
        "tokens",
        "vLLM: the same. SGLang: (kv_room_bytes_per_replica - max_sequences x (window + 128 x drafted tokens + next "
        "step + page) x bytes of a token in sliding layers) / bytes of a token in full layers and a drafter's; null: "
        "no decode workers",
    )
    kv_longest_request_tokens: int = _value(
        "tokens", "of a single request in the smaller of both, in one data parallel rank: ranks share no cache"
    )
    host_tier_bytes_per_replica: int = _value("bytes", "kv_cache.offload, GiB of host DRAM x 2^30")
    host_tier_tokens_per_replica: int = _value(
        "tokens",
        "host_tier_bytes_per_replica / bytes of a token in full layers; vLLM: in whole groups of them, its windows not "
        "counted; SGLang: in whole GB a rank, and swa_full_tokens_ratio of the sliding layers too",
    )
    host_tier_bytes_per_rank: int = _value("bytes", "host_tier_bytes_per_replica / gpus_per_replica")
    ssd_tier_bytes_per_replica: int = _value("bytes", "kv_cache.offload, GiB of local SSD x 2^30")
    ssd_tier_tokens_per_replica: int = _value(
        "tokens",
        "ssd_tier_bytes_per_replica / bytes of a token in full layers (vLLM: in whole groups of them); windows not "
        "counted",
    )
    ssd_tier_bytes_per_rank: int = _value("bytes", "ssd_tier_bytes_per_replica / gpus_per_replica")
    tier_free_floor_bytes: int | None = _value(
        "bytes",
        "0.1 x local SSD (where the kubelet evicts) + half of the 50, 75 or 100 GiB that GKE keeps: with less free, "
        "blocks of the tier go; null: no tier on ephemeral storage that the evictor bounds",
    )
    sidecar_cpu_millicores: int = _value("millicores", "catalog; what Cloud Storage FUSE adds to a pod, else 0")
    sidecar_memory_gib: int = _value("GiB", "catalog; what Cloud Storage FUSE adds to a pod, else 0")
    sidecar_ephemeral_gib: int = _value(
        "GiB",
        "weights_bytes + other files and buffers (catalog): what Cloud Storage FUSE keeps in a pod, else 0",
    )
    proxy_cpu: int = _value("cores", "catalog; of the proxy before a decode engine, llm-d's, else 0")
    proxy_memory_gib: int = _value(
        "GiB",
        f"1 + max_sequences x context_tokens x {PROXY_BYTES_PER_TOKEN}: prompts that pass through that proxy, else 0",
    )
    pod_cpu: int = _value(
        "cores",
        f"{CPUS_PER_GPU} x gpus_per_pod, at most the pod's share of the node less 2 cores, less sidecar and proxy",
    )
    shm_gib: int = _value(
        "GiB", f"{SHM_GIB_PER_GPU} x gpus_per_pod + the pod's host tier / {SHM_FILL} where the engine maps it there"
    )
    pod_memory_gib: int = _value(
        "GiB",
        f"({PROCESS_GIB_PER_GPU} + {SHM_GIB_PER_GPU}) x gpus_per_pod + the pod's host tier x the engine's "
        "pod_memory_per_host_tier_byte",
    )
    pod_ephemeral_gib: int = _value(
        "GiB", f"{CACHE_GIB_PER_REPLICA} + the pod's local SSD tier, unless that is raw block"
    )
    decode_shm_gib: int | None = _value("GiB", "shm_gib without a tier; null: no decode workers")
    decode_pod_memory_gib: int | None = _value(
        "GiB",
        "pod_memory_gib without a tier, but with the KV cache of one request of full length, which a decode worker may "
        "set aside there; null: no decode workers",
    )
    decode_pod_ephemeral_gib: int | None = _value("GiB", "pod_ephemeral_gib without a tier; null: no decode workers")
    request_limit_mib: int | None = _value(
        "MiB",
        f"{REQUEST_BYTES_PER_TOKEN} bytes x context_tokens, at least {LEAST_REQUEST_LIMIT_MIB} MiB: the largest request"
        " that Dynamo's frontends or llm-d's Envoy take; null: GKE's load balancer sends to engines",
    )
    rdma_devices_per_pod: int = _value("devices", "transport.rdma_devices_per_pod, else the node's devices by GPUs")
    engine_port: int = _value("port", "the engine's catalog row; of a Dynamo worker its system port")
    seed_budget_s: int | None = _value(
        "s", f"{STARTUP_SAFETY} x (image pull + weights_bytes / seed rate); null: nothing is copied to nodes"
    )
    load_gb_per_s: float = _value(
        "GB/s",
        "of one node: the machine's own rate, at most that of Cloud Storage FUSE, or the node's share of the Hyperdisk",
    )
    compile_s: int = _value("s", "kernels of a first start: the engine's figure or the machine's, whichever is longer")
    engine_startup_budget_s: int = _value(
        "s", f"{STARTUP_SAFETY} x (weights of the node's replicas / load_gb_per_s + compile_s)"
    )
    workload_budget_s: int = _value("s", f"engine_startup_budget_s + {STARTUP_SAFETY} x image pull")
    rollout_budget_s: int = _value(
        "s",
        "replicas x (termination_grace_s + workload_budget_s): without spare GPUs they are replaced one after another",
    )
    scaling_running_requests: int | None = _value(
        "requests", "running_share x max_sequences, rounded down: of a replica, on average; null: no scaling"
    )
    scale_down_window_s: int | None = _value(
        "s",
        f"workload_budget_s, at most {LONGEST_SCALE_WINDOW_S}: before a replica goes, the load is lower for as long as "
        "one takes to come back; null: no scaling",
    )
    scale_down_period_s: int | None = _value(
        "s", f"workload_budget_s, at most {LONGEST_SCALE_PERIOD_S}: one replica goes in each; null: no scaling"
    )
    router_memory_limit_gib: int = _value("GiB", "twice the router's request, at most what a system node leaves it")
    router_budget_s: int = _value("s", f"{STARTUP_SAFETY} x image pull (the engine's, a larger image)")
    release_budget_s: int = _value("s", f"{STARTUP_SAFETY} x {OPERATOR_START_S}: an operator's image pull and start")
    router_rollout_budget_s: int = _value("s", "termination_grace_s, of llm-d's Envoy proxy_grace_s, + router_budget_s")
    gateway_budget_s: int = _value("s", f"{STARTUP_SAFETY} x {GATEWAY_PROGRAMMING_S}")
    node_budget_s: int = _value(
        "s", f"{STARTUP_SAFETY} x boot time x 2, as create and delete each may take that long; of the slowest pool"
    )
    places_per_replica: int | None = _value(
        "requests", f"max_sequences x data_parallel x {1 + LOOKAHEAD:g}; null: no flow control of llm-d's"
    )
    engine_requests: int | None = _value(
        "requests",
        "max_sequences x data_parallel + max_waiting_requests: what vLLM bounds, as it counts those that run as well; "
        "null: no bound, or another engine",
    )
    queue_bytes: int | None = _value(
        "bytes", f"router_memory_limit_gib x {QUEUE_SHARE:g}, for requests that wait; null: no flow control of llm-d's"
    )
    engine_keep_alive_s: int = _value("s", f"{PROXY_KEEP_ALIVE_S} (Google's proxies) + {MARGIN_S}")
    drain_pause_s: int = _value("s", f"{DRAIN_PAUSE_S}: load balancers stop sending to a pod that is going")
    engine_drain_s: int = _value("s", "longest_request_s")
    termination_grace_s: int = _value("s", f"drain_pause_s (preStop) + engine_drain_s + {MARGIN_S}")
    backend_drain_s: int = _value(
        "s", f"termination_grace_s, of llm-d's Envoy proxy_grace_s, at most {MAX_BACKEND_DRAIN_S}"
    )
    proxy_timeout_s: int | None = _value(
        "s", f"longest_request_s + {MARGIN_S}, of llm-d's Envoy: waiting at the picker is part of it; null: no Envoy"
    )
    proxy_message_timeout_s: int | None = _value(
        "s",
        f"longest wait of a band (none: 0) + {PICKER_ANSWER_S}, at most proxy_timeout_s: how long llm-d's Envoy waits "
        "for what the picker says; null: no Envoy",
    )
    proxy_grace_s: int | None = _value(
        "s", f"drain_pause_s + proxy_timeout_s + {MARGIN_S}, of a router's pod with llm-d's Envoy; null: no Envoy"
    )
    gateway_timeout_s: int = _value(
        "s", f"proxy_timeout_s, without it longest_request_s, + {MARGIN_S}: waiting at the router is part of it"
    )
    client_timeout_s: int = _value("s", f"gateway_timeout_s + {MARGIN_S}")
    min_driver: str = _value("driver", "NVIDIA's; the newer of what the GPUs and the engine image's CUDA need")
    usd_per_hour: float | None = _value(
        "USD/h",
        "of all accelerator pools: nodes x list price of the machine type, spot where the nodes are; null: unknown",
    )
    usd_per_hour_one_year: float | None = _value("USD/h", "nodes x price with a commitment of a year; null: unknown")
    usd_per_hour_three_years: float | None = _value("USD/h", "the same of three years; null: unknown")

    def explained(self) -> list[dict[str, object]]:
        """Return every value with its unit and formula, in declaration order."""
        return [{"name": f.name, "value": getattr(self, f.name), **f.metadata} for f in fields(self)]
