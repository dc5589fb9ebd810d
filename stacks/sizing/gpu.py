"""Memory of one GPU: what is in it besides KV cache, and what is left for that."""

from __future__ import annotations

from stacks.derived import Derived
from stacks.memory import GB, MIB
from stacks.row_lookup import Rows
from stacks.sizing.figures import Figure, Section, gb
from stacks.spec import Preset
from stacks.wording import some

__all__ = ["gpu_memory"]


def gpu_memory(preset: Preset, rows: Rows, derived: Derived) -> Section:
    """Take one GPU's memory apart; the parts add up to it."""
    gpu, gpus = rows.hardware.gpu, derived.gpus_per_replica
    share = preset.serving.engine.gpu_memory_utilization
    memory, overhead = gpu.memory_mib_per_gpu * MIB, int(rows.engine.memory.overhead_gb_per_gpu * GB)
    weights, pool = derived.weights_bytes_per_gpu, derived.kv_room_bytes_per_replica // gpus
    drafter = f" (drafter of {gb(rows.drafter.weights_bytes)} in it)" if rows.drafter else ""
    figures = (
        Figure("memory", memory, "bytes", f"{gpu.memory_mib_per_gpu:,} MiB, as the driver reports it", "catalog", "GB"),
        Figure(
            "weights", weights, "bytes", f"{gb(derived.weights_bytes)}{drafter} / {some(gpus, 'GPU')}", "derived", "GB"
        ),
        Figure(
            "engine_overhead",
            overhead,
            "bytes",
            f"{rows.engine.kind} {rows.engine.version}: context, collectives, activations, graphs",
            "assumed",
            "GB",
        ),
        Figure(
            "kv_pool",
            pool,
            "bytes",
            f"{gb(memory)} x gpu_memory_utilization {share:g} - {gb(weights)} - {gb(overhead)}",
            "assumed",
            "GB",
        ),
        Figure(
            "free",
            memory - weights - overhead - pool,
            "bytes",
            f"{gb(memory)} x (1 - {share:g}): what the engine leaves alone",
            "derived",
            "GB",
        ),
    )
    return Section("gpu_memory", f"memory of one GPU ({gpu.model}; a replica has {gpus})", figures)
