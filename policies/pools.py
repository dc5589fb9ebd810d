"""Node pools of a graph as a scheduler would see their nodes: labels, taints, and what is left for pods.

The graph names a machine type; what such a machine has is a catalog row, and what GKE keeps of it for itself is in
``stacks.memory``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from beamline.engine.graph import Graph, Resource
from policies.objects import entries, plain, section
from stacks.catalog_files import load_catalog
from stacks.memory import (
    GIB,
    allocatable_boot_disk_bytes,
    allocatable_cpu_millicores,
    allocatable_ephemeral_gib,
    allocatable_memory_gib,
)
from stacks.rows import HardwareRow, SystemMachineRow
from stacks.taints import GKE_EFFECTS, Taint, parse

__all__ = ["NodePool", "node_pools"]

_TYPE = "gcp:container/nodePool:NodePool"
_EFFECTS = {theirs: ours for ours, theirs in GKE_EFFECTS.items()}


@dataclass(frozen=True)
class NodePool:
    """One pool; amounts are what one of its nodes leaves for pods."""

    name: str
    machine_type: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    gpus: int
    cpu_millicores: int
    memory_bytes: int
    ephemeral_bytes: int
    rdma_devices: int

    def amounts(self) -> dict[str, int]:
        """Return the amounts by resource name, in the units of ``policies.quantities``."""
        return {
            "nvidia.com/gpu": self.gpus,
            "cpu": self.cpu_millicores,
            "memory": self.memory_bytes,
            "ephemeral-storage": self.ephemeral_bytes,
        }


def node_pools(graph: Graph) -> list[NodePool]:
    """Return the pools whose machine type is in the catalog; of others nothing is known, so nothing fits on them."""
    catalog = load_catalog()
    pools = []
    for resource in graph.resources:
        if resource.type != _TYPE:
            continue
        config = section(plain(resource.inputs.get("nodeConfig")))
        machine_type = str(config.get("machineType", ""))
        row = catalog.hardware.get(machine_type) or catalog.system.get(machine_type)
        if row is not None:
            pools.append(_pool(resource, config, row))
    return pools


def _pool(resource: Resource, config: Mapping[str, Any], row: HardwareRow | SystemMachineRow) -> NodePool:
    name = str(plain(resource.inputs.get("name")) or resource.name)
    accelerators = entries(config.get("guestAccelerators"))
    labels = {
        **section(config.get("labels")),
        "cloud.google.com/gke-nodepool": name,
        "node.kubernetes.io/instance-type": row.machine_type,
        "kubernetes.io/arch": row.machine.arch,
        "kubernetes.io/os": "linux",
    }
    if accelerators:
        labels["cloud.google.com/gke-accelerator"] = accelerators[0].get("type", "")
        labels["cloud.google.com/gke-accelerator-count"] = str(accelerators[0].get("count", ""))
    disks = _count(section(config.get("ephemeralStorageLocalSsdConfig")).get("localSsdCount"))
    if disks:
        labels["cloud.google.com/gke-ephemeral-storage-local-ssd"] = "true"
    ssd_gib = row.local_ssd.size_gib if isinstance(row, HardwareRow) else 0
    return NodePool(
        name=name,
        machine_type=row.machine_type,
        labels=labels,
        taints=_taints(config, row),
        gpus=sum(_count(accelerator.get("count")) for accelerator in accelerators),
        cpu_millicores=allocatable_cpu_millicores(row.machine),
        memory_bytes=allocatable_memory_gib(row.machine) * GIB,
        rdma_devices=row.network.rdma_interfaces if isinstance(row, HardwareRow) else 0,
        ephemeral_bytes=allocatable_ephemeral_gib(disks, ssd_gib) * GIB if disks else _boot_disk_bytes(config),
    )


def _taints(config: Mapping[str, Any], row: HardwareRow | SystemMachineRow) -> tuple[Taint, ...]:
    """Taints the program declares, and those GKE adds by itself."""
    declared = [
        Taint(str(taint.get("key")), str(taint.get("value", "")), _EFFECTS.get(str(taint.get("effect")), "NoSchedule"))
        for taint in entries(config.get("taints"))
    ]
    return tuple(dict.fromkeys([*declared, *map(parse, row.gke.taints)]))


def _boot_disk_bytes(config: Mapping[str, Any]) -> int:
    """Ephemeral storage on the boot disk, which has 100 GB unless the program says otherwise."""
    written = _count(config.get("diskSizeGb")) or _count(section(config.get("bootDisk")).get("sizeGb"))
    return allocatable_boot_disk_bytes(written or 100)


def _count(value: Any) -> int:
    """``value`` as a count, 0 when it is none."""
    return value if isinstance(value, int) else 0
