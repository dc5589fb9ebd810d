"""Every number that follows from the intent, computed once: one number in, all dependent values out.

Nothing here is ever written by hand in a preset. ``beamline plan`` shows each value with its unit and formula, which
stand beside the field so that they cannot drift from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from stacks.memory import (
    GB,
    GIB,
    MIB,
    allocatable_boot_disk_bytes,
    allocatable_cpu_millicores,
    allocatable_ephemeral_gib,
    allocatable_memory_gib,
    kv_bytes_per_token,
    kv_pool_bytes_per_token,
    kv_window_bytes_per_sequence,
)
from stacks.parallelism import data_parallel, gpus_per_replica
from stacks.pools import STARTUP_SAFETY, Pool, accelerator_pools
from stacks.roles import roles
from stacks.row_lookup import Rows
from stacks.rows import DynamoRelease, LlmdRelease
from stacks.spec import LocalSsd, PrefillDecode, Preset, SglangEngine
from stacks.versions import numbers
from stacks.weight_storage import load_gb_per_s, sidecar

__all__ = ["Derived", "derive"]

DRAIN_PAUSE_S = 15
"""preStop pause: load balancers need a moment to stop sending to a pod that is going."""
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
MARGIN_S = 15
"""Between one deadline and the next outer one, so that the inner one always fires first."""
CPUS_PER_GPU = 8
SHM_GIB_PER_GPU = 2
PROCESS_GIB_PER_GPU = 8
CACHE_GIB_PER_REPLICA = 20
"""torch.compile, Triton and FlashInfer caches of one replica, on ephemeral storage."""
FILE_SYSTEM_SHARE = 0.95
"""Of a local SSD what its file system has room for: ext4's own tables take less than 2 %, the rest is margin."""
LOOKAHEAD = 0.04
"""Places beyond the running sequences: the next request is at the engine when one ends (llm-d guides, flow control
tuning: 133 for 128)."""
QUEUE_SHARE = 0.25
"""Of the router's memory: a waiting request is there as text and as what was read from it (llm-d guides: 4 of 16)."""
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
        "vLLM: (kv_room_bytes_per_replica - max_sequences x kv_window_bytes_per_sequence) / kv_bytes_per_token; "
        "SGLang: kv_room_bytes_per_replica / (full + swa_full_tokens_ratio x sliding + drafter bytes of a token)",
    )
    host_tier_bytes_per_replica: int = _value("bytes", "kv_cache.offload, GiB of host DRAM x 2^30")
    host_tier_tokens_per_replica: int = _value("tokens", "host_tier_bytes_per_replica / kv_bytes_per_token")
    host_tier_bytes_per_rank: int = _value("bytes", "host_tier_bytes_per_replica / gpus_per_replica")
    ssd_tier_bytes_per_replica: int = _value("bytes", "kv_cache.offload, GiB of local SSD x 2^30")
    ssd_tier_tokens_per_replica: int = _value("tokens", "ssd_tier_bytes_per_replica / kv_bytes_per_token")
    ssd_tier_bytes_per_rank: int = _value("bytes", "ssd_tier_bytes_per_replica / gpus_per_replica")
    sidecar_cpu_millicores: int = _value("millicores", "catalog; what Cloud Storage FUSE adds to a pod, else 0")
    sidecar_memory_gib: int = _value("GiB", "catalog; what Cloud Storage FUSE adds to a pod, else 0")
    sidecar_ephemeral_gib: int = _value(
        "GiB",
        "weights_bytes + other files and buffers (catalog): what Cloud Storage FUSE keeps in a pod, else 0",
    )
    pod_cpu: int = _value(
        "cores",
        f"{CPUS_PER_GPU} x gpus_per_pod, at most the pod's share of the node less 2 cores, less the sidecar's",
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
        " that Dynamo's frontends take; null: another router",
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
    router_memory_limit_gib: int = _value("GiB", "twice the router's request, at most what a system node leaves it")
    places_per_replica: int | None = _value(
        "requests", f"max_sequences x data_parallel x {1 + LOOKAHEAD:g}; null: no flow control of llm-d's"
    )
    queue_bytes: int | None = _value(
        "bytes", f"router_memory_limit_gib x {QUEUE_SHARE:g}, for requests that wait; null: no flow control of llm-d's"
    )
    router_budget_s: int = _value("s", f"{STARTUP_SAFETY} x image pull (the engine's, a larger image)")
    release_budget_s: int = _value("s", f"{STARTUP_SAFETY} x {OPERATOR_START_S}: an operator's image pull and start")
    router_rollout_budget_s: int = _value("s", "termination_grace_s + router_budget_s")
    gateway_budget_s: int = _value("s", f"{STARTUP_SAFETY} x {GATEWAY_PROGRAMMING_S}")
    node_budget_s: int = _value(
        "s", f"{STARTUP_SAFETY} x boot time x 2, as create and delete each may take that long; of the slowest pool"
    )
    engine_keep_alive_s: int = _value("s", f"{PROXY_KEEP_ALIVE_S} (Google's proxies) + {MARGIN_S}")
    drain_pause_s: int = _value("s", f"{DRAIN_PAUSE_S}: load balancers stop sending to a pod that is going")
    engine_drain_s: int = _value("s", "longest_request_s")
    termination_grace_s: int = _value("s", f"drain_pause_s (preStop) + engine_drain_s + {MARGIN_S}")
    backend_drain_s: int = _value("s", f"termination_grace_s, at most {MAX_BACKEND_DRAIN_S}")
    gateway_timeout_s: int = _value("s", f"longest_request_s + {MARGIN_S}")
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


@dataclass(frozen=True)
class _Pod:
    """Host resources of one pod, GiB."""

    shm: int
    memory: int
    ephemeral: int


def _pod(rows: Rows, gpus: int, *, dram: int, ssd: int, raw_block: bool) -> _Pod:
    """Size a pod of ``gpus`` GPUs whose tiers below GPU memory take ``dram`` and ``ssd`` bytes."""
    offload = rows.engine.offload
    if ssd and not dram:
        dram = offload.local_ssd_staging_gib_per_rank * gpus * GIB
    mapped = dram if offload.host_tier_in_shm else 0
    return _Pod(
        shm=SHM_GIB_PER_GPU * gpus + math.ceil(mapped / SHM_FILL / GIB),
        memory=(PROCESS_GIB_PER_GPU + SHM_GIB_PER_GPU) * gpus
        + math.ceil(offload.pod_memory_per_host_tier_byte * dram / GIB),
        ephemeral=CACHE_GIB_PER_REPLICA + (0 if raw_block else math.ceil(ssd / GIB)),
    )


def _kv_tokens(preset: Preset, rows: Rows, room: int) -> int:
    """Tokens of KV cache that fit in ``room`` bytes of one replica's GPU memory."""
    model, engine, dtype = rows.model.architecture, preset.serving.engine, preset.serving.kv_cache.dtype
    if isinstance(engine, SglangEngine):
        ratio = engine.swa_full_tokens_ratio
        return max(0, room) // kv_pool_bytes_per_token(model, dtype, window_ratio=ratio, drafter=rows.drafter)
    windows = engine.max_sequences * kv_window_bytes_per_sequence(model, dtype)
    return max(0, room - windows) // kv_bytes_per_token(model, dtype)


def _rdma_devices(preset: Preset, rows: Rows, gpus_per_pod: int) -> int:
    chosen, transport = preset.serving.transport, rows.transport
    if chosen is None or transport is None or transport.rdma_device_class is None:
        return 0
    if chosen.rdma_devices_per_pod is not None:
        return chosen.rdma_devices_per_pod
    return rows.hardware.network.rdma_interfaces * gpus_per_pod // rows.hardware.gpu.count


def _usd(pools: Iterable[Pool], of_node: Callable[[Pool], float | None]) -> float | None:
    """What all pools cost, those that stand by or are drained too; unknown where the price of one is."""
    prices = [(of_node(pool), pool.plan.nodes) for pool in pools]
    known = [usd * nodes for usd, nodes in prices if usd is not None]
    return round(sum(known), 4) if len(known) == len(prices) else None


def _places(preset: Preset) -> int:
    running = preset.serving.engine.max_sequences * data_parallel(preset.serving)
    return max(running + 1, round(running * (1 + LOOKAHEAD)))


def derive(preset: Preset, rows: Rows) -> Derived:
    """Compute everything that follows from ``preset``; pure, and total: a stack that cannot fit still gets numbers."""
    serving, hardware, engine = preset.serving, rows.hardware, rows.engine
    pools = accelerator_pools(preset, rows)
    serves = [pool for pool in pools if pool.serves]
    ranks = gpus_per_replica(serving)
    gpus = hardware.gpu.count
    replicas = sum(role.replicas for role in roles(serving))
    spanned = math.ceil(ranks / gpus)
    pod_gpus = math.ceil(ranks / spanned)
    per_node = max(1, gpus // ranks)
    weights = rows.checkpoint.weights_bytes + (rows.drafter.weights_bytes if rows.drafter else 0)
    per_token = kv_bytes_per_token(rows.model.architecture, serving.kv_cache.dtype)
    usable = hardware.gpu.memory_mib_per_gpu * MIB * serving.engine.gpu_memory_utilization
    room = int((usable - weights / ranks - engine.memory.overhead_gb_per_gpu * GB) * ranks)
    tiers = serving.kv_cache.offload
    dram, ssd = tiers.host_dram_gib * GIB, tiers.local_ssd_gib * GIB
    raw = serves[0].plan.local_ssd_mode == "raw_block"
    pod = _pod(rows, pod_gpus, dram=dram // spanned, ssd=ssd // spanned, raw_block=raw)
    decode = _pod(rows, pod_gpus, dram=0, ssd=0, raw_block=raw) if isinstance(serving.shape, PrefillDecode) else None
    aside = serving.context_tokens * per_token / spanned
    boot_disk_gb = min(pool.plan.boot_disk_gb for pool in serves)
    cpu = allocatable_cpu_millicores(hardware.machine)
    rate, added = load_gb_per_s(preset, rows), sidecar(preset, rows, weights)
    load_s = weights * min(per_node, replicas) / (rate * GB)
    compile_s = max(engine.startup.compile_s, hardware.throughput.compile_s or 0)
    startup_s = math.ceil(STARTUP_SAFETY * (load_s + compile_s))
    workload_s = startup_s + STARTUP_SAFETY * engine.startup.image_pull_s
    grace_s = DRAIN_PAUSE_S + serving.longest_request_s + MARGIN_S
    gateway_s = serving.longest_request_s + MARGIN_S
    image = rows.engine_image
    router_gib = min(
        2 * rows.release.sizing.memory_gib, allocatable_memory_gib(rows.system.machine) - SYSTEM_RESERVE_GIB
    )
    queues = isinstance(rows.release, LlmdRelease) and serving.routing.flow_control is not None
    return Derived(
        replicas=replicas,
        gpus_per_replica=ranks,
        nodes_per_replica=spanned,
        gpus_per_pod=pod_gpus,
        replicas_per_node=per_node,
        nodes_needed=replicas * spanned if spanned > 1 else math.ceil(replicas / per_node),
        local_ssd_count=serves[0].local_ssd_count,
        local_ssd_gib_per_node=serves[0].local_ssd_gib_per_node,
        allocatable_cpu_millicores=cpu,
        allocatable_memory_gib=allocatable_memory_gib(hardware.machine),
        allocatable_ephemeral_gib=allocatable_boot_disk_bytes(boot_disk_gb) // GIB
        if raw
        else allocatable_ephemeral_gib(serves[0].local_ssd_count, hardware.local_ssd.size_gib),
        raw_block_gib=int(FILE_SYSTEM_SHARE * serves[0].local_ssd_gib_per_node) if raw else None,
        weights_bytes=weights,
        weights_bytes_per_gpu=math.ceil(weights / ranks),
        kv_bytes_per_token=per_token,
        kv_window_bytes_per_sequence=kv_window_bytes_per_sequence(rows.model.architecture, serving.kv_cache.dtype),
        kv_room_bytes_per_replica=room,
        kv_tokens_per_replica=_kv_tokens(preset, rows, room),
        host_tier_bytes_per_replica=dram,
        host_tier_tokens_per_replica=dram // per_token,
        host_tier_bytes_per_rank=dram // ranks,
        ssd_tier_bytes_per_replica=ssd,
        ssd_tier_tokens_per_replica=ssd // per_token,
        ssd_tier_bytes_per_rank=ssd // ranks,
        sidecar_cpu_millicores=added.cpu_millicores,
        sidecar_memory_gib=added.memory_gib,
        sidecar_ephemeral_gib=added.ephemeral_gib,
        pod_cpu=max(1, min(CPUS_PER_GPU * pod_gpus, ((cpu - 2000) * pod_gpus // gpus - added.cpu_millicores) // 1000)),
        shm_gib=pod.shm,
        pod_memory_gib=pod.memory,
        pod_ephemeral_gib=pod.ephemeral,
        decode_shm_gib=decode.shm if decode else None,
        decode_pod_memory_gib=decode.memory + math.ceil(aside / GIB) if decode else None,
        decode_pod_ephemeral_gib=decode.ephemeral if decode else None,
        request_limit_mib=max(
            LEAST_REQUEST_LIMIT_MIB, math.ceil(REQUEST_BYTES_PER_TOKEN * serving.context_tokens / MIB)
        )
        if isinstance(rows.release, DynamoRelease)
        else None,
        rdma_devices_per_pod=_rdma_devices(preset, rows, pod_gpus),
        engine_port=rows.release.ports.system if isinstance(rows.release, DynamoRelease) else engine.port,
        seed_budget_s=math.ceil(
            STARTUP_SAFETY * (engine.startup.image_pull_s + weights / (hardware.throughput.seed_gb_per_s * GB))
        )
        if isinstance(preset.model.storage, LocalSsd)
        else None,
        load_gb_per_s=round(rate, 3),
        compile_s=compile_s,
        engine_startup_budget_s=startup_s,
        workload_budget_s=workload_s,
        rollout_budget_s=replicas * (grace_s + workload_s),
        router_memory_limit_gib=router_gib,
        places_per_replica=_places(preset) if queues else None,
        queue_bytes=int(router_gib * QUEUE_SHARE * GIB) if queues else None,
        router_budget_s=STARTUP_SAFETY * engine.startup.image_pull_s,
        release_budget_s=STARTUP_SAFETY * OPERATOR_START_S,
        router_rollout_budget_s=grace_s + STARTUP_SAFETY * engine.startup.image_pull_s,
        gateway_budget_s=STARTUP_SAFETY * GATEWAY_PROGRAMMING_S,
        node_budget_s=max(pool.node_budget_s for pool in pools),
        engine_keep_alive_s=PROXY_KEEP_ALIVE_S + MARGIN_S,
        drain_pause_s=DRAIN_PAUSE_S,
        engine_drain_s=serving.longest_request_s,
        termination_grace_s=grace_s,
        backend_drain_s=min(grace_s, MAX_BACKEND_DRAIN_S),
        gateway_timeout_s=gateway_s,
        client_timeout_s=gateway_s + MARGIN_S,
        min_driver=max(hardware.gpu.min_driver, image.min_driver, key=numbers),
        usd_per_hour=_usd(pools, lambda pool: pool.node_usd_per_hour),
        usd_per_hour_one_year=_usd(pools, lambda pool: pool.row.price.one_year_usd_per_hour),
        usd_per_hour_three_years=_usd(pools, lambda pool: pool.row.price.three_years_usd_per_hour),
    )
