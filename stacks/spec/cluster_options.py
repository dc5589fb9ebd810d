"""What a preset may choose about a new cluster: when it is maintained, who reaches it, what guards it."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from stacks.forms import Cidr, DnsLabel
from stacks.rows import Strict

__all__ = ["ControlPlane", "Exclusion", "IpEndpoint", "Maintenance"]

Weekday = Literal["MO", "TU", "WE", "TH", "FR", "SA", "SU"]


_MIDNIGHT = " 00:00:00 +0000 UTC"
"""What Pulumi adds to a day that a stack file has without quotes."""


def _as_date(written: Any) -> Any:
    """Overrides of a stack file arrive as text; whatever is no date is left for the type to refuse."""
    try:
        return date.fromisoformat(written.removesuffix(_MIDNIGHT)) if isinstance(written, str) else written
    except ValueError:
        return written


Day = Annotated[date, BeforeValidator(_as_date)]


class Exclusion(Strict):
    """A time without some kinds of upgrades."""

    scope: Literal["NO_UPGRADES", "NO_MINOR_UPGRADES", "NO_MINOR_OR_NODE_UPGRADES"]
    start: Day = Field(description="First day, UTC.")
    end: Day | None = Field(default=None, description="Day it ends, UTC; null: with the support of the minor version.")


def _keep_nodes() -> dict[str, Exclusion]:
    return {"keep-nodes": Exclusion(scope="NO_MINOR_OR_NODE_UPGRADES", start=date(2026, 1, 1))}


class Maintenance(Strict):
    """When GKE may upgrade the cluster, and what it must leave alone."""

    days: Annotated[list[Weekday], Field(min_length=1)] = Field(default=["SA", "SU"], description="Of the window, UTC.")
    start_hour_utc: Annotated[int, Field(ge=0, le=23)] = 2
    hours: Annotated[int, Field(ge=4, le=24)] = Field(default=8, description="Length of the window on each day.")
    exclusions: dict[DnsLabel, Exclusion] = Field(
        default_factory=_keep_nodes,
        description="By name; left out, minor versions and nodes stay until the end of the minor version's support.",
    )


class IpEndpoint(Strict):
    """The control plane at an IP address, for those networks only."""

    public: bool = Field(default=False, description="false: an address inside the VPC only.")
    authorized_networks: Annotated[list[Cidr], Field(min_length=1, max_length=100)]


class ControlPlane(Strict):
    """How the Kubernetes API is reached."""

    dns_endpoint: bool = Field(
        default=True, description="By a DNS name, from anywhere; IAM decides before a request gets to Kubernetes."
    )
    ip_endpoint: IpEndpoint | None = Field(default=None, description="Null: it has no IP address.")
