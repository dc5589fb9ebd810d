"""What fits: weights and KV cache in GPU memory, tiers in host memory and on local SSD, replicas on nodes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

from stacks.checks.candidate import Candidate
from stacks.derive import derive
from stacks.derived import Derived
from stacks.memory import GB, GIB, MIB
from stacks.parallelism import data_parallel
from stacks.problems import Problem
from stacks.spec import LocalSsd, NoOffload, PrefillDecode
from stacks.wording import some

__all__ = ["CHECKS"]

_UPGRADE_WAITS_S = 3600
_CUDA_MIB = 512
"""Driver and CUDA context of one process on a GPU."""
_ACTIVATION_BYTES = 2
"""Between layers, activations are bf16 whatever the weights are."""
NODE_RESERVE_GIB = 8
"""Host memory left for what else runs on a GPU node: seeding, device plugin, metrics agents."""


def _engine(c: Candidate) -> str:
    return f"{c.rows.engine.kind} {c.rows.engine.version}"


def weights_fit(c: Candidate) -> Iterator[Problem]:
    """Weights and the engine's own memory must leave room for a KV cache."""
    if c.derived.kv_room_bytes_per_replica > 0:
        return
    gpu, ranks = c.rows.hardware.gpu, c.derived.gpus_per_replica
    gpu_gb = gpu.memory_mib_per_gpu * MIB / GB
    usable = gpu_gb * c.preset.serving.engine.gpu_memory_utilization
    room = (usable - c.rows.engine.memory.overhead_gb_per_gpu) * GB
    fitting = [name for name, row in c.rows.model.checkpoints.items() if row.weights_bytes / ranks < room]
    sizes = c.rows.model.engines[c.preset.serving.engine.kind].tensor_parallel
    enough = next((f"tensor_parallel {size} or more" for size in sizes if c.derived.weights_bytes / size < room), "")
    yield Problem(
        rule="weights-do-not-fit",
        path="model.checkpoint",
        value=c.preset.model.checkpoint,
        why=f"{c.derived.weights_bytes_per_gpu / GB:.1f} GB of weights per GPU ({some(ranks, 'GPU')} a replica) and "
        f"{c.rows.engine.memory.overhead_gb_per_gpu:g} GB for the engine do not fit in {usable:.1f} GB "
        f"({gpu_gb:.1f} GB x gpu_memory_utilization)",
        allowed=", ".join(fitting) or "none on so many GPUs",
        remedy=" or ".join(filter(None, ("choose a smaller checkpoint", enough, "GPUs with more memory"))),
        source=f"{c.rows.checkpoint.source}; {gpu.source}",
    )


def gpu_memory_free(c: Candidate) -> Iterator[Problem]:
    """The engine counts free memory at start, when CUDA has already taken its own."""
    gpu, asked = c.rows.hardware.gpu, c.preset.serving.engine.gpu_memory_utilization
    highest = math.floor((1 - _CUDA_MIB / gpu.memory_mib_per_gpu) * 1000) / 1000
    if asked > highest:
        yield Problem(
            rule="gpu-memory-utilization",
            path="serving.engine.gpu_memory_utilization",
            value=asked,
            why=f"it leaves {(1 - asked) * gpu.memory_mib_per_gpu:.0f} MiB of a GPU; CUDA takes more before the engine "
            "counts what is free, and an engine that finds less than its share refuses to start",
            allowed=f"up to {highest:g}",
            remedy="lower it",
            source=f"{_engine(c)} checks free memory at start; that CUDA takes up to {_CUDA_MIB} MiB is assumed",
        )


def step_fits(c: Candidate) -> Iterator[Problem]:
    """Whatever the engine does, a step's tokens lie twice in GPU memory: a layer's input and the sum passing by it."""
    tokens, engine = c.preset.serving.engine.batched_tokens, c.rows.engine
    bytes_per_token = 2 * _ACTIVATION_BYTES * c.rows.model.architecture.hidden_size
    most = int(engine.memory.overhead_gb_per_gpu * GB / bytes_per_token)
    if tokens > most:
        yield Problem(
            rule="batched-tokens-memory",
            path="serving.engine.batched_tokens",
            value=tokens,
            why=f"a step of that many tokens takes {tokens * bytes_per_token / GB:.1f} GB of each GPU, or more, and "
            f"{engine.memory.overhead_gb_per_gpu:g} GB are left beside weights and KV cache; the engine runs out of "
            "memory at start",
            allowed=f"up to {most}",
            remedy="lower it; longer prompts are taken in chunks",
            source=f"derived: 2 x hidden size x {_ACTIVATION_BYTES} bytes a token; {engine.memory.source}",
        )


def context_fits(c: Candidate) -> Iterator[Problem]:
    """One request of full length must fit the cache, or the engine refuses to start."""
    serving, limit = c.preset.serving, c.rows.model.architecture.max_context_tokens
    if serving.context_tokens > limit:
        yield Problem(
            rule="context-too-long",
            path="serving.context_tokens",
            value=serving.context_tokens,
            why=f"{c.rows.model.title} was trained for {limit} tokens",
            allowed=f"up to {limit}",
            remedy="lower it",
            source=c.rows.model.architecture.source,
        )
    apart = data_parallel(serving)
    tokens = c.derived.kv_longest_request_tokens
    if c.derived.kv_room_bytes_per_replica > 0 and tokens < serving.context_tokens:
        yield Problem(
            rule="context-does-not-fit",
            path="serving.context_tokens",
            value=serving.context_tokens,
            why=f"one request of {tokens} tokens, its windows included, fills the KV cache of "
            f"{'a replica' if apart == 1 else 'a data parallel rank'}; one request of full length would not fit",
            allowed=f"up to {tokens}",
            remedy="lower context_tokens, or raise tensor_parallel",
            source=f"{_engine(c)} checks the context length against its KV blocks at start",
        )


def nodes(c: Candidate) -> Iterator[Problem]:
    """Replicas need nodes; nodes without replicas are paid for and idle."""
    pools = c.serving_pools
    have, need = c.preset.nodes_of("serving"), c.derived.nodes_needed
    derived, shape, gpus = c.derived, c.preset.serving.shape, c.rows.hardware.gpu.count
    if shape.tensor_parallel not in c.rows.model.engines[c.preset.serving.engine.kind].tensor_parallel:
        return  # said already; how many nodes a right size takes cannot be told
    key = "prefill_replicas" if isinstance(shape, PrefillDecode) else "replicas"
    if have < need:
        yield Problem(
            rule="too-few-nodes",
            path=f"{pools[0].path}.nodes",
            value=pools[0].plan.nodes,
            why=f"{derived.replicas} x {some(derived.gpus_per_replica, 'GPU')} take {need} "
            f"{c.rows.hardware.machine_type} of {some(gpus, 'GPU')} each{_elsewhere(c, have)}; pods would stay Pending",
            allowed=f">= {need - have + pools[0].plan.nodes}",
            remedy="add nodes or lower replicas",
            source=c.rows.hardware.gpu.source,
        )
    idle = have * gpus - derived.replicas * derived.gpus_per_replica
    if have >= need and idle > 0 and not any(pool.drains for pool in c.pools):  # room to spare is what a drain wants
        yield Problem(
            rule="idle-gpus",
            path=f"serving.shape.{key}",
            value=getattr(shape, key),
            why=f"{idle} of {some(have * gpus, 'GPU')}: paid for, and serving nothing",
            allowed="replicas x gpus_per_replica equal to the GPUs of the pool",
            remedy="add replicas or use fewer or smaller nodes",
            source="derived",
            severity="warning",
        )


def _elsewhere(c: Candidate, have: int) -> str:
    """Which nodes do not count, where there is more than one pool."""
    if len(c.pools) == 1:
        return ""
    others = [f"{pool.name} ({pool.plan.use})" for pool in c.pools if not pool.serves]
    return f", and the serving pools have {have}" + (f"; {', '.join(others)} do not count" if others else "")


def _without_tier(c: Candidate) -> Derived:
    """The numbers of the same stack with nothing below GPU memory: whether the tier is what does not fit."""
    cache = c.preset.serving.kv_cache.model_copy(update={"offload": NoOffload(kind="none")})
    serving = c.preset.serving.model_copy(update={"kv_cache": cache})
    return derive(c.preset.model_copy(update={"serving": serving}), c.rows)


def _largest_pod_gib(derived: Derived) -> int:
    decode = (derived.decode_pod_memory_gib or 0) + derived.proxy_memory_gib
    return max(derived.pod_memory_gib, decode) + derived.sidecar_memory_gib


def host_memory(c: Candidate) -> Iterator[Problem]:
    """Pods with their host tier must fit the memory GKE leaves them."""
    per_node = min(c.derived.replicas_per_node, c.derived.replicas)
    largest = _largest_pod_gib(c.derived)
    needed = per_node * largest
    pages_gib = c.rows.transport.hugepages_2mi_per_node * 2 // 1024 if c.rows.transport else 0
    available = c.derived.allocatable_memory_gib - NODE_RESERVE_GIB - pages_gib
    if needed <= available:
        return
    tier = c.preset.serving.kv_cache.offload.host_dram_gib
    tiered = tier > 0 and per_node * _largest_pod_gib(_without_tier(c)) <= available
    yield Problem(
        rule="host-memory",
        path=c.tier_path("host_dram") if tiered else f"{c.serving_pools[0].path}.machine_type",
        value=tier if tiered else c.rows.hardware.machine_type,
        why=f"a node's engine pods need {per_node} x {largest} GiB of memory, "
        f"{c.rows.hardware.machine_type} leaves {available} GiB for them"
        f"{f' beside {pages_gib} GiB of huge pages' if pages_gib else ''}; they would stay Pending",
        allowed=f"pod memory up to {available // per_node} GiB; the host tier counts "
        f"{c.rows.engine.offload.pod_memory_per_host_tier_byte:g} times in it (pinning)",
        remedy="make the tier smaller or use fewer replicas a node" if tiered else "choose a larger machine type",
        source="derived: see pod_memory_gib and allocatable_memory_gib in plan",
    )


def host_tier_size(c: Candidate) -> Iterator[Problem]:
    """A host tier is pinned memory, and pinning a lot of it has failed on some hosts."""
    offload, proven = c.preset.serving.kv_cache.offload, c.rows.engine.offload.proven_host_tier_gib
    if offload.host_dram_gib > proven:
        yield Problem(
            rule="host-tier-unproven",
            path=c.tier_path("host_dram"),
            value=offload.host_dram_gib,
            why=f"{proven} GiB is the largest host tier of a replica that a public run reports; pinning more has "
            "failed on some hosts, at the engine's start or in silence",
            allowed=f"any size that fits; up to {proven} is proven",
            remedy="stay within the proven size, or try the larger one on a node before you rely on it",
            source=c.rows.engine.offload.source,
            severity="warning",
        )


def tier_adds(c: Candidate) -> Iterator[Problem]:
    """What GPU memory holds is written to the tier below too: a smaller tier holds only what the GPU still has."""
    offload, room = c.preset.serving.kv_cache.offload, c.derived.kv_room_bytes_per_replica
    lowest: Literal["host_dram", "local_ssd"] = "local_ssd" if offload.local_ssd_gib else "host_dram"
    size, above, what = (
        (offload.local_ssd_gib, max(room // GIB, offload.host_dram_gib), "GPU or host memory")
        if lowest == "local_ssd"
        else (offload.host_dram_gib, room // GIB, "GPU memory")
    )
    if 0 < size <= above and room > 0:
        yield Problem(
            rule="tier-below-gpu-cache",
            path=c.tier_path(lowest),
            value=size,
            why=f"the {what} of a replica holds {above} GiB of KV cache, and all it computes is copied to "
            "the tier; a smaller one would hold little that is not above it",
            allowed=f"more than {above}, or no tier",
            remedy="make it larger, on local SSD if need be, or leave the tier out",
            source=f"{c.rows.engine.kind} {c.rows.engine.version}: blocks are offloaded when they are computed",
            severity="warning",
        )


def local_ssd(c: Candidate) -> Iterator[Problem]:
    """Weights and the SSD tier share the node's local SSD, with caches or alone; a full disk evicts the server."""
    per_node = min(c.derived.replicas_per_node, c.derived.replicas)
    weights_gib = -(-c.derived.weights_bytes // GIB) if isinstance(c.preset.model.storage, LocalSsd) else 0
    available, raw = c.derived.allocatable_ephemeral_gib, c.derived.raw_block_gib
    pods, each, without = "engine pods", _ephemeral_gib(c.derived), _ephemeral_gib(_without_tier(c))
    if raw is not None:
        yield from _boot_disk(c, per_node)
        pods, available, without = "KV tiers", raw, 0
        each = -(-c.derived.ssd_tier_bytes_per_replica // c.derived.nodes_per_replica // GIB)
    needed = weights_gib + per_node * each
    if needed <= available:
        return
    tiered = _on_ssd(c) and weights_gib + per_node * without <= available
    yield Problem(
        rule="local-ssd-capacity",
        path=c.tier_path("local_ssd") if tiered else f"{c.serving_pools[0].path}.machine_type",
        value=c.preset.serving.kv_cache.offload.local_ssd_gib if tiered else c.rows.hardware.machine_type,
        why=f"weights ({weights_gib} GiB) and a node's {pods} ({per_node} x {each} GiB) "
        f"need {needed} GiB, the node's local SSD has {available} GiB for them; a full disk "
        + ("stops the server" if raw is not None else "evicts the server"),
        allowed=f"up to {max(0, (available - weights_gib) // per_node)} GiB per replica",
        remedy="make the tier smaller" if tiered else "choose a machine type with more local SSD",
        source=f"derived: see {'allocatable_ephemeral_gib' if raw is None else 'raw_block_gib'} in plan",
    )


def _ephemeral_gib(derived: Derived) -> int:
    """Of one engine pod, with the cache of what mounts its weights."""
    return derived.pod_ephemeral_gib + derived.sidecar_ephemeral_gib


def _on_ssd(c: Candidate) -> bool:
    return c.preset.serving.kv_cache.offload.local_ssd_gib > 0


def _boot_disk(c: Candidate, per_node: int) -> Iterator[Problem]:
    """With raw block local SSD, pods' own storage is what the boot disk has beside images and logs."""
    each, available = _ephemeral_gib(c.derived), c.derived.allocatable_ephemeral_gib
    needed = per_node * each
    pool = min(c.serving_pools, key=lambda pool: pool.plan.boot_disk_gb)
    if needed > available:
        yield Problem(
            rule="boot-disk-capacity",
            path=f"{pool.path}.boot_disk_gb",
            value=pool.plan.boot_disk_gb,
            why=f"local SSD is raw block, so that caches of a node's engine pods ({per_node} x "
            f"{each} GiB) are on the boot disk, which has {available} GiB for pods; they would "
            "stay Pending",
            allowed="a larger boot disk, or local_ssd_mode: ephemeral",
            remedy=f"raise {pool.path}.boot_disk_gb",
            source="derived: see pod_ephemeral_gib and allocatable_ephemeral_gib in plan",
        )


def drain(c: Candidate) -> Iterator[Problem]:
    """A node upgrade waits for running requests, but not for ever."""
    grace = c.derived.termination_grace_s
    if grace > _UPGRADE_WAITS_S:
        yield Problem(
            rule="drain-too-long",
            path="serving.longest_request_s",
            value=c.preset.serving.longest_request_s,
            why=f"pods may take {grace} s to end; a node upgrade waits {_UPGRADE_WAITS_S} s and then cuts the requests",
            allowed=f"up to {_UPGRADE_WAITS_S - grace + c.derived.engine_drain_s} where upgrades must not cut requests",
            remedy="lower it, or accept that upgrades may cut the longest requests",
            source="GKE docs, node upgrades: termination grace is respected for up to one hour",
            severity="warning",
        )


CHECKS = (
    weights_fit,
    gpu_memory_free,
    step_fits,
    context_fits,
    nodes,
    host_memory,
    host_tier_size,
    tier_adds,
    local_ssd,
    drain,
)
