"""Every number that follows from the intent, computed once: one number in, all dependent values out.

Nothing here is ever written by hand in a preset. ``beamline plan`` shows each value with the unit and formula of
``stacks.derived``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from stacks.derived import (
    CACHE_GIB_PER_REPLICA,
    CPUS_PER_GPU,
    DRAIN_PAUSE_S,
    FILE_SYSTEM_SHARE,
    GATEWAY_PROGRAMMING_S,
    LEAST_REQUEST_LIMIT_MIB,
    LONGEST_SCALE_PERIOD_S,
    LONGEST_SCALE_WINDOW_S,
    LOOKAHEAD,
    MARGIN_S,
    MAX_BACKEND_DRAIN_S,
    OPERATOR_START_S,
    PICKER_ANSWER_S,
    PROCESS_GIB_PER_GPU,
    PROXY_BYTES_PER_TOKEN,
    PROXY_KEEP_ALIVE_S,
    QUEUE_SHARE,
    REQUEST_BYTES_PER_TOKEN,
    SHM_FILL,
    SHM_GIB_PER_GPU,
    SYSTEM_RESERVE_GIB,
    Derived,
)
from stacks.kv_rooms import host_tier_tokens, kv_rooms, ssd_tier_tokens
from stacks.memory import (
    GB,
    GIB,
    MIB,
    allocatable_boot_disk_bytes,
    allocatable_cpu_millicores,
    allocatable_ephemeral_gib,
    allocatable_memory_gib,
    ephemeral_floor_bytes,
    kv_bytes_per_token,
    kv_window_bytes_per_sequence,
)
from stacks.parallelism import data_parallel, gpus_per_replica
from stacks.pools import STARTUP_SAFETY, Pool, accelerator_pools
from stacks.roles import roles
from stacks.row_lookup import Rows
from stacks.rows import DynamoRelease, LlmdRelease
from stacks.spec import LlmdRouter, LocalSsd, PrefillDecode, Preset, VllmEngine
from stacks.versions import numbers
from stacks.weight_storage import load_gb_per_s, sidecar

__all__ = ["Derived", "derive"]


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


@dataclass(frozen=True)
class _Proxy:
    """What the proxy before a decode engine takes."""

    cpu: int = 0
    memory_gib: int = 0


def _proxy(preset: Preset, rows: Rows) -> _Proxy:
    serving = preset.serving
    if not (isinstance(rows.release, LlmdRelease) and isinstance(serving.shape, PrefillDecode)):
        return _Proxy()
    held = serving.engine.max_sequences * serving.context_tokens * PROXY_BYTES_PER_TOKEN
    return _Proxy(rows.release.routing_sidecar.cpu, 1 + math.ceil(held / GIB))


@dataclass(frozen=True)
class _Envoy:
    """Deadlines of the Envoy beside llm-d's picker, s."""

    timeout_s: int | None = None
    message_timeout_s: int | None = None
    grace_s: int | None = None


def _envoy(preset: Preset) -> _Envoy:
    serving = preset.serving
    if not (isinstance(serving.router, LlmdRouter) and serving.router.proxy == "envoy"):
        return _Envoy()
    timeout_s, control = serving.longest_request_s + MARGIN_S, serving.routing.flow_control
    wait_s = max(band.longest_wait_s for band in control.bands.values()) if control else 0
    return _Envoy(timeout_s, min(wait_s + PICKER_ANSWER_S, timeout_s), DRAIN_PAUSE_S + timeout_s + MARGIN_S)


def _places(preset: Preset) -> int:
    running = preset.serving.engine.max_sequences * data_parallel(preset.serving)
    return max(running + 1, round(running * (1 + LOOKAHEAD)))


def _engine_requests(preset: Preset) -> int | None:
    engine = preset.serving.engine
    if not isinstance(engine, VllmEngine) or engine.max_waiting_requests is None:
        return None
    return engine.max_sequences * data_parallel(preset.serving) + engine.max_waiting_requests


def derive(preset: Preset, rows: Rows) -> Derived:
    """Compute everything that follows from ``preset``; pure, and total: a stack that cannot fit still gets numbers."""
    serving, hardware, engine = preset.serving, rows.hardware, rows.engine
    scaling = serving.scaling
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
    kv = kv_rooms(preset, rows, room)
    tiers = serving.kv_cache.offload
    dram, ssd = tiers.host_dram_gib * GIB, tiers.local_ssd_gib * GIB
    raw = serves[0].plan.local_ssd_mode == "raw_block"
    pod = _pod(rows, pod_gpus, dram=dram // spanned, ssd=ssd // spanned, raw_block=raw)
    decode = _pod(rows, pod_gpus, dram=0, ssd=0, raw_block=raw) if isinstance(serving.shape, PrefillDecode) else None
    aside = serving.context_tokens * per_token / spanned
    boot_disk_gb = min(pool.plan.boot_disk_gb for pool in serves)
    cpu = allocatable_cpu_millicores(hardware.machine)
    rate, added, proxy = load_gb_per_s(preset, rows), sidecar(preset, rows, weights), _proxy(preset, rows)
    share_millicores = (cpu - 2000) * pod_gpus // gpus - added.cpu_millicores - 1000 * proxy.cpu
    load_s = weights * min(per_node, replicas) / (rate * GB)
    compile_s = max(engine.startup.compile_s, hardware.throughput.compile_s or 0)
    startup_s = math.ceil(STARTUP_SAFETY * (load_s + compile_s))
    workload_s = startup_s + STARTUP_SAFETY * engine.startup.image_pull_s
    grace_s = DRAIN_PAUSE_S + serving.longest_request_s + MARGIN_S
    envoy = _envoy(preset)
    router_grace_s = envoy.grace_s or grace_s
    gateway_s = (envoy.timeout_s or serving.longest_request_s) + MARGIN_S
    router_gib = min(
        2 * rows.release.sizing.memory_gib, allocatable_memory_gib(rows.system.machine) - SYSTEM_RESERVE_GIB
    )
    image = rows.engine_image
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
        kv_tokens_per_replica=kv.tokens,
        decode_kv_tokens_per_replica=kv.decode_tokens,
        kv_longest_request_tokens=kv.longest_request_tokens,
        host_tier_bytes_per_replica=dram,
        host_tier_tokens_per_replica=host_tier_tokens(preset, rows, dram),
        host_tier_bytes_per_rank=dram // ranks,
        ssd_tier_bytes_per_replica=ssd,
        ssd_tier_tokens_per_replica=ssd_tier_tokens(preset, rows, ssd),
        ssd_tier_bytes_per_rank=ssd // ranks,
        tier_free_floor_bytes=ephemeral_floor_bytes(serves[0].local_ssd_count, hardware.local_ssd.size_gib)
        if dram and ssd and not engine.offload.bounds_ssd_below_dram and not raw
        else None,
        sidecar_cpu_millicores=added.cpu_millicores,
        sidecar_memory_gib=added.memory_gib,
        sidecar_ephemeral_gib=added.ephemeral_gib,
        proxy_cpu=proxy.cpu,
        proxy_memory_gib=proxy.memory_gib,
        pod_cpu=max(1, min(CPUS_PER_GPU * pod_gpus, share_millicores // 1000)),
        shm_gib=pod.shm,
        pod_memory_gib=pod.memory,
        pod_ephemeral_gib=pod.ephemeral,
        decode_shm_gib=decode.shm if decode else None,
        decode_pod_memory_gib=decode.memory + math.ceil(aside / GIB) if decode else None,
        decode_pod_ephemeral_gib=decode.ephemeral if decode else None,
        request_limit_mib=max(
            LEAST_REQUEST_LIMIT_MIB, math.ceil(REQUEST_BYTES_PER_TOKEN * serving.context_tokens / MIB)
        )
        if isinstance(rows.release, DynamoRelease) or envoy.timeout_s
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
        scaling_running_requests=max(1, int(scaling.running_share * serving.engine.max_sequences)) if scaling else None,
        scale_down_window_s=min(workload_s, LONGEST_SCALE_WINDOW_S) if scaling else None,
        scale_down_period_s=min(workload_s, LONGEST_SCALE_PERIOD_S) if scaling else None,
        router_memory_limit_gib=router_gib,
        places_per_replica=_places(preset) if queues else None,
        engine_requests=_engine_requests(preset),
        queue_bytes=int(router_gib * QUEUE_SHARE * GIB) if queues else None,
        router_budget_s=STARTUP_SAFETY * engine.startup.image_pull_s,
        release_budget_s=STARTUP_SAFETY * OPERATOR_START_S,
        router_rollout_budget_s=router_grace_s + STARTUP_SAFETY * engine.startup.image_pull_s,
        gateway_budget_s=STARTUP_SAFETY * GATEWAY_PROGRAMMING_S,
        node_budget_s=max(pool.node_budget_s for pool in pools),
        engine_keep_alive_s=PROXY_KEEP_ALIVE_S + MARGIN_S,
        drain_pause_s=DRAIN_PAUSE_S,
        engine_drain_s=serving.longest_request_s,
        termination_grace_s=grace_s,
        backend_drain_s=min(router_grace_s, MAX_BACKEND_DRAIN_S),
        proxy_timeout_s=envoy.timeout_s,
        proxy_message_timeout_s=envoy.message_timeout_s,
        proxy_grace_s=envoy.grace_s,
        gateway_timeout_s=gateway_s,
        client_timeout_s=gateway_s + MARGIN_S,
        min_driver=max(hardware.gpu.min_driver, image.min_driver, key=numbers),
        usd_per_hour=_usd(pools, lambda pool: pool.node_usd_per_hour),
        usd_per_hour_one_year=_usd(pools, lambda pool: pool.row.price.one_year_usd_per_hour),
        usd_per_hour_three_years=_usd(pools, lambda pool: pool.row.price.three_years_usd_per_hour),
    )
