"""Taints of nodes: Kubernetes' own notation, read in one place, and the words GKE's API has for effects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["GKE_EFFECTS", "Taint", "parse"]

GKE_EFFECTS: Mapping[str, str] = MappingProxyType(
    {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}
)
"""Effect as Kubernetes writes it -> as GKE's API does (container.v1 NodeTaint.Effect)."""


@dataclass(frozen=True)
class Taint:
    """One taint, in Kubernetes' words."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        """As ``kubectl`` writes it."""
        return f"{self.key}={self.value}:{self.effect}"


def parse(text: str) -> Taint:
    """Read ``key=value:Effect``; the value may be empty. Raises ``ValueError`` for anything else."""
    pair, _, effect = text.rpartition(":")
    key, equals, value = pair.partition("=")
    if not key or not equals or effect not in GKE_EFFECTS:
        raise ValueError(f"{text!r} is no taint: write key=value:Effect, Effect one of {', '.join(GKE_EFFECTS)}")
    return Taint(key, value, effect)
