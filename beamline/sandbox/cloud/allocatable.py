"""What a GKE node offers to pods: the machine less what the kernel, the system and the kubelet keep.

Formulas: GKE docs "Plan GKE Standard node sizes" (2026). Checked against three real nodes of GKE 1.25
(2i2c-org/infrastructure issue 2121, 2023-03-12): CPU exactly, memory and boot disk within 0.1 %. The kernel's own share
of memory is not documented; it is modelled as one page descriptor (64 of 4096 bytes) per page and 160 MiB, which fits
the same nodes, and an operator's a4x-maxgpu-4g-metal of 2026 (942 GiB, 909 allocatable) within 0.4 %.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from beamline.sandbox.cloud.machines import Machine

__all__ = ["Resources", "node_resources"]

_GIB = 2**30
_MIB = 2**20
_EVICTION_MIB = 100
_KERNEL_MIB = 160
_MEMORY_STEPS = ((4, 0.25), (4, 0.20), (8, 0.10), (112, 0.06))
_MEMORY_REST = 0.02
_BOOT_PARTITIONS_GIB = 4.2
_FILESYSTEM_SHARE = 0.984
_SSD_RESERVED_GIB = {1: 50, 2: 75}
_SSD_RESERVED_MAX_GIB = 100


@dataclass(frozen=True)
class Resources:
    """Capacity and allocatable of a node, as Kubernetes quantities."""

    capacity: dict[str, str]
    allocatable: dict[str, str]


def node_resources(
    machine: Machine, *, boot_disk_gib: int, ephemeral_ssds: int, max_pods: int, hugepages: Mapping[int, int]
) -> Resources:
    """Compute a node's resources.

    ``ephemeral_ssds``: local SSDs behind ephemeral storage (0: the boot disk). ``hugepages``: size in MiB to number;
    the memory they hold is no longer allocatable as such.
    """
    memory_bytes = _seen_by_kernel_bytes(machine.memory_gib)
    disk_bytes, disk_free_bytes = _ephemeral_bytes(machine, boot_disk_gib, ephemeral_ssds)
    fixed = {"pods": str(max_pods), "hugepages-1Gi": _held(hugepages, 1024), "hugepages-2Mi": _held(hugepages, 2)}
    held_bytes = sum(size_mib * number for size_mib, number in hugepages.items()) * _MIB
    if machine.gpus:
        fixed["nvidia.com/gpu"] = str(machine.gpus)
    capacity = {
        "cpu": str(machine.vcpus),
        "memory": f"{memory_bytes // 1024}Ki",
        "ephemeral-storage": f"{disk_bytes // 1024}Ki",
        **fixed,
    }
    allocatable = {
        "cpu": f"{1000 * machine.vcpus - _reserved_millicores(machine)}m",
        "memory": f"{(memory_bytes - _reserved_memory_bytes(memory_bytes) - held_bytes) // 1024}Ki",
        "ephemeral-storage": str(disk_free_bytes),
        **fixed,
    }
    return Resources(capacity, allocatable)


def _held(hugepages: Mapping[int, int], size_mib: int) -> str:
    number = hugepages.get(size_mib, 0)
    return f"{size_mib * number}Mi" if number else "0"


def _reserved_millicores(machine: Machine) -> int:
    """6 % of the first core, 1 % of the second, 0.5 % of the next two, 0.25 % of the rest."""
    if machine.reserved_millicores is not None:
        return machine.reserved_millicores
    cores = machine.vcpus
    share = 60 * min(cores, 1) + 10 * min(max(cores - 1, 0), 1) + 5 * min(max(cores - 2, 0), 2)
    return int(share + 2.5 * max(cores - 4, 0))


def _seen_by_kernel_bytes(memory_gib: int) -> int:
    total = memory_gib * _GIB
    return total - total // 64 - _KERNEL_MIB * _MIB


def _reserved_memory_bytes(seen_bytes: int) -> int:
    """25 % of the first 4 GiB, 20 % of the next 4, 10 % of the next 8, 6 % of the next 112, 2 % above; and 100 MiB."""
    reserved, rest = 0.0, seen_bytes / _GIB
    for size_gib, share in _MEMORY_STEPS:
        part = min(rest, size_gib)
        reserved += part * share
        rest -= part
    reserved += rest * _MEMORY_REST
    return (round(reserved * 1024) + _EVICTION_MIB) * _MIB


def _ephemeral_bytes(machine: Machine, boot_disk_gib: int, ephemeral_ssds: int) -> tuple[int, int]:
    """Return capacity and allocatable of ephemeral storage: a tenth is kept for eviction, and a part for the system."""
    if ephemeral_ssds:
        size_gib = ephemeral_ssds * machine.family.local_ssd_gib * _FILESYSTEM_SHARE
        reserved_gib: float = _SSD_RESERVED_GIB.get(ephemeral_ssds, _SSD_RESERVED_MAX_GIB)
    else:
        size_gib = (boot_disk_gib - _BOOT_PARTITIONS_GIB) * _FILESYSTEM_SHARE
        reserved_gib = min(0.5 * boot_disk_gib, 6 + 0.35 * boot_disk_gib, 100)
    size = int(size_gib * _GIB)
    return size, max(0, int(0.9 * size - reserved_gib * _GIB))
