"""The kinds of pods that serve: one, or prefill and decode apart. All that differs between them follows from here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stacks.spec import PrefillDecode, Serving

__all__ = ["Role", "RoleName", "roles"]

RoleName = Literal["worker", "prefill", "decode"]


@dataclass(frozen=True)
class Role:
    """One kind of replica. ``tiered``: whether its KV cache has the tier below GPU memory."""

    name: RoleName
    replicas: int
    tiered: bool


def roles(serving: Serving) -> tuple[Role, ...]:
    """Return the roles of a stack. With prefill apart, only prefill reuses prefixes, so only it has the lower tier."""
    tiered = serving.kv_cache.offload.kind != "none"
    shape = serving.shape
    if isinstance(shape, PrefillDecode):
        return (
            Role("prefill", shape.prefill_replicas, tiered),
            Role("decode", shape.decode_replicas, tiered=False),
        )
    return (Role("worker", shape.replicas, tiered),)
