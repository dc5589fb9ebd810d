"""Which nodes a pod goes to: those of the stack's own pools; a cluster may have others of the same machine type."""

from __future__ import annotations

from typing import Any

from stacks.resolve import StackSpec
from stacks.taints import parse

__all__ = ["accelerator_labels", "accelerator_tolerations", "system_labels", "system_tolerations"]

_POOL = "cloud.google.com/gke-nodepool"


def accelerator_labels(spec: StackSpec) -> dict[str, str]:
    """Labels GKE gives the accelerator nodes; with those of the accelerator network, where the transport needs it."""
    hardware = spec.rows.hardware
    return {
        "cloud.google.com/gke-accelerator": hardware.gpu.accelerator_type,
        "node.kubernetes.io/instance-type": hardware.machine_type,
        _POOL: spec.accelerator_pool_name,
        **(hardware.fabric.profile_labels if spec.rows.claims_network else {}),
    }


def accelerator_tolerations(spec: StackSpec) -> list[dict[str, Any]]:
    """Tolerations for the taints GKE puts on the accelerator nodes."""
    return [_toleration(taint) for taint in spec.rows.hardware.gke.taints]


def system_labels(spec: StackSpec) -> dict[str, str]:
    """Labels GKE gives the system nodes."""
    return {"node.kubernetes.io/instance-type": spec.rows.system.machine_type, _POOL: spec.system_pool_name}


def system_tolerations(spec: StackSpec) -> list[dict[str, Any]]:
    """Tolerations for the taints GKE puts on the system nodes."""
    return [_toleration(taint) for taint in spec.rows.system.gke.taints]


def _toleration(text: str) -> dict[str, Any]:
    """The toleration of one taint."""
    taint = parse(text)
    return {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
