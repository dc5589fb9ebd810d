"""What an engine pod of a role takes of its node's memory and disks: a decode engine has no tier below GPU memory."""

from __future__ import annotations

from dataclasses import dataclass

from stacks.resolve import StackSpec
from stacks.roles import Role

__all__ = ["PodSize", "pod_size"]


@dataclass(frozen=True)
class PodSize:
    """Host resources of a pod, GiB."""

    shm: int
    memory: int
    ephemeral: int


def pod_size(spec: StackSpec, role: Role) -> PodSize:
    """Return the derived sizes that are about ``role``."""
    derived = spec.derived
    if role.name != "decode":
        return PodSize(derived.shm_gib, derived.pod_memory_gib, derived.pod_ephemeral_gib)
    sizes = (derived.decode_shm_gib, derived.decode_pod_memory_gib, derived.decode_pod_ephemeral_gib)
    shm, memory, ephemeral = (size or 0 for size in sizes)
    return PodSize(shm, memory, ephemeral)
