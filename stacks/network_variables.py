"""Environment variables that make an engine use a way between nodes: meaningless, or fatal, without its devices.

Read in UCX, NCCL and Mooncake: a variable, and the values that switch it on (none listed: any).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["NVLINK_BETWEEN_NODES", "RDMA"]

RDMA: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"UCX_NET_DEVICES": (), "UCX_IB_GID_INDEX": (), "NCCL_IB_HCA": (), "MC_FORCE_HCA": ("1", "true")}
)
NVLINK_BETWEEN_NODES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "NCCL_MNNVL_ENABLE": ("1",),
        "UCX_CUDA_IPC_ENABLE_MNNVL": ("y", "1", "yes", "on"),
        "MC_FORCE_MNNVL": ("1", "true"),
    }
)
