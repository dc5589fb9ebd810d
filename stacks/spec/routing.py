"""What a preset says about the way of a request: which replica takes it, and when it may start.

The same intent for every router stack; each writes it in its own words. Headers that clients send are in
``stacks.clients``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from stacks.forms import DnsLabel
from stacks.rows import FlowOrder, Strict

__all__ = ["Band", "FlowControl", "PrefixAndLoad", "RoundRobin", "Routing", "Scorers", "SessionAffinity"]

Weight = Annotated[int, Field(ge=0, le=1000)]
DAY_S = 86_400


class Scorers(Strict):
    """Weights of llm-d's scorers; 0 leaves one out."""

    prefix_cache: Weight
    queue: Weight
    kv_cache_utilization: Weight


class RoundRobin(Strict):
    """Replicas in turn, whatever they have cached: the baseline."""

    kind: Literal["round_robin"]


class PrefixAndLoad(Strict):
    """To the replica that has most of the prompt cached, weighed against how busy it is."""

    kind: Literal["prefix_and_load"]
    cache_view: Literal["approximate", "events"] = Field(
        description="approximate: the router remembers what it sent where. events: engines publish what they cache and "
        "evict."
    )
    scorers: Scorers | None = Field(
        default=None, description="llm-d only; null: as the release's row says. Dynamo weighs by cost in blocks."
    )


class SessionAffinity(Strict):
    """Requests of one session go to the replica that took the first, as long as it is there."""

    strict: bool = Field(description="true: always. false: unless another replica is much the better choice.")
    forget_after_s: Annotated[int, Field(gt=0, le=DAY_S)] = Field(
        description="A session that is silent for this long is forgotten."
    )


class Band(Strict):
    """Requests of one priority. Clients name the band in a header; those that name none are in the band of 0."""

    priority: Annotated[int, Field(ge=-1000, le=1000)] = Field(description="Higher goes first; below 0 is shed first.")
    longest_wait_s: Annotated[int, Field(gt=0, le=DAY_S)] = Field(
        description="A request that has not started after this long is refused."
    )


class FlowControl(Strict):
    """Requests wait at the router until a replica has a free place, and not in an engine's queue."""

    order: FlowOrder = Field(
        description="Within a band. arrival: first come, first served. turn_priority: deeper sessions first, waiting "
        "lifts newcomers (llm-d). shortest_uncached: the least left to compute first, which later turns are (Dynamo)."
    )
    turns_per_waited_s: Annotated[float, Field(ge=0.001, le=100)] | None = Field(
        default=None, description="turn_priority only: turns of depth that a second of waiting makes up for."
    )
    bands: Annotated[dict[DnsLabel, Band], Field(min_length=1, max_length=8)]

    @property
    def default_band(self) -> str:
        """The band of requests that name none: the one of priority 0, which ``stacks.checks`` makes sure of."""
        return min(self.bands, key=lambda name: (abs(self.bands[name].priority), name))

    @property
    def ranks(self) -> bool:
        """Whether some bands go before others."""
        return len({band.priority for band in self.bands.values()}) > 1


class Routing(Strict):
    """Which replica takes a request, and when it may start."""

    policy: Annotated[RoundRobin | PrefixAndLoad, Field(discriminator="kind")]
    session_affinity: SessionAffinity | None = None
    flow_control: FlowControl | None = Field(
        default=None, description="Null: requests start at once and wait in engines."
    )

    @property
    def cache_view(self) -> Literal["approximate", "events"] | None:
        """How the router knows what replicas have cached; None: it does not look."""
        return self.policy.cache_view if isinstance(self.policy, PrefixAndLoad) else None

    @property
    def listens(self) -> bool:
        """Whether engines tell the router what they cache and evict."""
        return self.cache_view == "events"
