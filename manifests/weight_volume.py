"""The engine's view of the node's weights: the folder that seeding fills, each node with its own copy.

Mounted read-only: many readers, no writer. The engine waits for seeding to make it (see ``manifests.node_volume``).
"""

from __future__ import annotations

from manifests.local_ssd import weights_folder
from manifests.naming import WEIGHTS
from manifests.node_volume import NodeVolume, volume_and_claim
from manifests.objects import KubernetesObject
from stacks.memory import GIB
from stacks.resolve import StackSpec

__all__ = ["claim_name", "weight_volume"]


def _folder(spec: StackSpec) -> NodeVolume:
    gib = -(-spec.derived.weights_bytes // GIB)
    return NodeVolume(component=WEIGHTS, path=weights_folder(spec), access="ReadOnlyMany", gib=gib)


def claim_name(spec: StackSpec) -> str:
    """Name of the claim the engine mounts."""
    return _folder(spec).claim_name(spec)


def weight_volume(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """The volume, reserved for the claim, and the claim."""
    return volume_and_claim(spec, _folder(spec), names=("volume", "claim"))
