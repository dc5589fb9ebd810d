"""What a preset says about elastic scaling: how few replicas there may be, and when there are to be more.

How many there may be at most is the shape's: that is what there are nodes for.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from stacks.rows import Strict

__all__ = ["Scaling"]


class Scaling(Strict):
    """Replicas come and go with the load, between ``least_replicas`` and what the shape says."""

    least_replicas: Annotated[int, Field(ge=0, le=10_000)] = Field(
        description="These stay, whatever the load; serving.shape.replicas is the most there will be."
    )
    running_share: Annotated[float, Field(gt=0, lt=1)] = Field(
        description="Requests that run in a replica, on average, as share of max_sequences: replicas are added above "
        "it and taken away below."
    )
    waiting_requests: Annotated[int, Field(gt=0, le=10_000)] | None = Field(
        default=None,
        description="Requests that wait in a replica, on average: replicas are added above it, which also sees a KV "
        "cache that is full before max_sequences run. Null: not looked at.",
    )
