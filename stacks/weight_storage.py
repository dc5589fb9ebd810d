"""What follows from where weights are read: how fast a node gets them, and what that takes beside the engine."""

from __future__ import annotations

import math
from dataclasses import dataclass

from stacks.memory import GB, GIB, MIB
from stacks.row_lookup import Rows
from stacks.spec import GcsFuse, HyperdiskMl, Preset

__all__ = ["Sidecar", "load_gb_per_s", "nodes_that_mount", "sidecar"]


@dataclass(frozen=True)
class Sidecar:
    """The container that a driver adds to every engine pod; nothing where none does."""

    cpu_millicores: int = 0
    memory_gib: int = 0
    ephemeral_gib: int = 0


def sidecar(preset: Preset, rows: Rows, weights_bytes: int) -> Sidecar:
    """Return what is added to each engine pod. Its cache holds every set whole: no byte is fetched twice."""
    if not isinstance(preset.model.storage, GcsFuse):
        return Sidecar()
    row, sets = rows.weight_storage.gcs_fuse, 2 if rows.drafter else 1
    cache_gib = math.ceil(weights_bytes / GIB) + sets * row.other_files_gib
    return Sidecar(row.cpu_millicores, row.memory_gib, cache_gib + row.buffer_gib)


def nodes_that_mount(preset: Preset) -> int:
    """Return on how many nodes engine pods may be; those of a pool that is drained still have theirs."""
    return preset.nodes_of("serving", "draining")


def load_gb_per_s(preset: Preset, rows: Rows) -> float:
    """Return the rate at which one node's GPUs get weights: the slowest part of the way decides."""
    fastest = rows.hardware.throughput.load_gb_per_s
    match preset.model.storage:
        case GcsFuse():
            return min(fastest, rows.weight_storage.gcs_fuse.load_gb_per_s)
        case HyperdiskMl(throughput_mib_per_s=throughput):
            # Of the nodes that load: those of a drained pool have, and its end must not change, and restart, a pod.
            share = throughput / preset.nodes_of("serving")
            return min(fastest, min(share, rows.weight_storage.hyperdisk_ml.mib_per_s_per_node) * MIB / GB)
        case _:
            return fastest
