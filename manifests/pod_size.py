"""What an engine pod of a role takes of its node's memory and disks: a decode engine has no tier below GPU memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from manifests.fabric_claims import container_claims
from stacks.resolve import StackSpec
from stacks.roles import Role

__all__ = ["PodSize", "engine_resources", "pod_size"]


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


def engine_resources(spec: StackSpec, role: Role) -> dict[str, Any]:
    """Requests, limits and claims of the engine's container. Limits are requests, but for CPU, which has no limit."""
    size, claims = pod_size(spec, role), container_claims(spec)
    bounded = {
        "memory": f"{size.memory}Gi",
        "ephemeral-storage": f"{size.ephemeral}Gi",
        "nvidia.com/gpu": str(spec.derived.gpus_per_pod),
    }
    return {
        "requests": {"cpu": str(spec.derived.pod_cpu), **bounded},
        "limits": bounded,
        **({"claims": claims} if claims else {}),
    }
