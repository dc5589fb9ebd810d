"""How replicas are replaced: one at a time, the old one first, unless there is room for one too many."""

from __future__ import annotations

from stacks.resolve import StackSpec

__all__ = ["one_at_a_time"]


def one_at_a_time(spec: StackSpec) -> dict[str, int]:
    """Surge and outage of an update, as Deployment and LeaderWorkerSet both write them."""
    return {"maxSurge": 1, "maxUnavailable": 0} if spec.drains else {"maxSurge": 0, "maxUnavailable": 1}
