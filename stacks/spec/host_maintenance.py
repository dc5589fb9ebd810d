"""When Google may maintain the machines under a pool's nodes: apart from GKE's own upgrades, and stopping the node."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from stacks.rows import Strict

__all__ = ["AsNeeded", "Opportunistic", "Periodic"]

ANNOUNCED_S = 28 * 24 * 3600
"""Maintenance of PERIODIC nodes is announced 28 days ahead: no time window reaches further back."""


class Opportunistic(Strict):
    """GKE starts announced maintenance early, on nodes that nobody's pods run on."""

    node_idle_s: Annotated[int, Field(ge=1, le=ANNOUNCED_S)] = Field(
        description="A node without anyone's pods for this long is maintained."
    )
    window_s: Annotated[int, Field(ge=1, le=ANNOUNCED_S)] = Field(
        default=ANNOUNCED_S, description="How long before the announced day it may start; at most 28 days."
    )
    min_nodes: Annotated[int, Field(ge=0)] = Field(description="Nodes that have to stay; with fewer, GKE waits.")


class AsNeeded(Strict):
    """Updates of a host come as soon as there are any."""

    kind: Literal["as_needed"]


class Periodic(Strict):
    """Updates of a host come together, now and then; security updates still at once."""

    kind: Literal["periodic"]
    opportunistic: Opportunistic | None = Field(
        default=None, description="Null: maintenance comes on the day it is announced for, or when it is triggered."
    )
