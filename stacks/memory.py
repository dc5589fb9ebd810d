"""Memory arithmetic: what fits where. Every formula once, with its unit in the name.

KV cache of a model with full and sliding attention layers (facts read in SGLang 0.5.23 and vLLM 0.33.0): full layers
grow with the context, sliding layers hold at most one window per sequence. What an engine makes of a GPU's memory is in
``stacks.kv_blocks``.
"""

from __future__ import annotations

from stacks.rows import Architecture, MachineShape

__all__ = [
    "GB",
    "GIB",
    "KUBELET_EVICTS_BELOW",
    "MIB",
    "allocatable_boot_disk_bytes",
    "allocatable_cpu_millicores",
    "allocatable_ephemeral_gib",
    "allocatable_memory_gib",
    "ephemeral_floor_bytes",
    "kv_bytes_per_token",
    "kv_window_bytes_per_sequence",
    "layer_bytes_per_token",
]

GB = 10**9
MIB = 2**20
GIB = 2**30
KUBELET_EVICTS_BELOW = 0.1
"""Share of ephemeral storage that is free when the kubelet begins to evict pods, on GKE's nodes."""
_KV_ELEMENT_BYTES = {"auto": 2, "fp8": 1}


def kv_bytes_per_token(model: Architecture, kv_dtype: str) -> int:
    """Bytes of KV cache one more token of context takes in one replica: keys and values of the full layers."""
    return model.full_attention_layers * 2 * model.kv_heads * model.head_dim * _KV_ELEMENT_BYTES[kv_dtype]


def kv_window_bytes_per_sequence(model: Architecture, kv_dtype: str) -> int:
    """Bytes one running sequence holds in the sliding layers, whatever its length."""
    per_token = model.sliding_attention_layers * 2 * model.kv_heads * model.head_dim * _KV_ELEMENT_BYTES[kv_dtype]
    return per_token * model.sliding_window_tokens


def layer_bytes_per_token(model: Architecture, kv_dtype: str, *, ranks: int) -> int:
    """Bytes a token takes in one layer on one of ``ranks`` GPUs; of fewer heads than GPUs each has a copy."""
    return 2 * max(1, model.kv_heads // ranks) * model.head_dim * _KV_ELEMENT_BYTES[kv_dtype]


def _banded(amount: float, bands: tuple[tuple[float, float], ...]) -> float:
    """Sum fraction x part over consecutive bands of (width, fraction)."""
    taken = 0.0
    for width, fraction in bands:
        part = min(amount, width)
        taken += part * fraction
        amount -= part
    return taken


def allocatable_cpu_millicores(machine: MachineShape) -> int:
    """CPU left for pods: GKE keeps 6 % of the first core, 1 % of the next, 0.5 % of two more, 0.25 % of the rest."""
    reserved = _banded(machine.vcpus, ((1, 0.06), (1, 0.01), (2, 0.005), (float("inf"), 0.0025)))
    return int((machine.vcpus - reserved) * 1000)


def allocatable_memory_gib(machine: MachineShape) -> int:
    """Memory left for pods, GiB rounded down.

    GKE keeps 25 % of the first 4 GiB, 20 % of the next 4, 10 % of the next 8, 6 % of the next 112, 2 % of the rest, and
    100 MiB for eviction. The machine's GB are taken as 10^9 bytes, the smaller reading.
    """
    total_gib = machine.memory_gb * GB / GIB
    reserved = _banded(total_gib, ((4, 0.25), (4, 0.20), (8, 0.10), (112, 0.06), (float("inf"), 0.02)))
    return int(total_gib - reserved - 0.1)


def allocatable_boot_disk_bytes(disk_gb: int) -> int:
    """Ephemeral storage left for pods on the boot disk, where local SSD does not hold it.

    GKE keeps 10 % for eviction and the least of half, 6 GiB + 35 %, 100 GiB (GKE docs, plan Standard node sizes). The
    disk's GB are taken as 10^9 bytes, the smaller reading.
    """
    capacity = disk_gb * GB
    reserved = min(capacity // 2, 6 * GIB + capacity * 35 // 100, 100 * GIB)
    return max(0, capacity * 9 // 10 - reserved)


def allocatable_ephemeral_gib(ssd_count: int, ssd_size_gib: int) -> int:
    """Ephemeral storage left for pods on local SSD, GiB: GKE keeps 50, 75 or 100 GiB and 10 % for eviction."""
    return max(0, int(ssd_count * ssd_size_gib * (1 - KUBELET_EVICTS_BELOW) - _kept_on_ssd_gib(ssd_count)))


def ephemeral_floor_bytes(ssd_count: int, ssd_size_gib: int) -> int:
    """Free bytes of ephemeral storage on local SSD below which a KV tier gives way, before the kubelet evicts its pod.

    The kubelet's threshold, 10 %, and half of what GKE keeps beside it: images and logs have the other half, so that a
    tier as large as the checks allow stays whole. Source: Kubernetes docs, node-pressure eviction: nodefs.available
    """
    return int((ssd_count * ssd_size_gib * KUBELET_EVICTS_BELOW + _kept_on_ssd_gib(ssd_count) / 2) * GIB)


def _kept_on_ssd_gib(ssd_count: int) -> int:
    """GKE docs, plan node sizes: for the system, by the number of local SSDs behind ephemeral storage."""
    return {0: 0, 1: 50, 2: 75}.get(ssd_count, 100)
