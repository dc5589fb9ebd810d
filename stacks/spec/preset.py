"""One composition of catalog rows, whole."""

from __future__ import annotations

from datetime import date
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from stacks.forms import FeatureName, Text
from stacks.rows import Strict
from stacks.spec.infrastructure import (
    AcceleratorPools,
    ClusterNetwork,
    ExistingCluster,
    ExistingNetwork,
    NewCluster,
    NewNetwork,
    PoolUse,
    SystemPool,
)
from stacks.spec.serving import Serving
from stacks.spec.weights import Model

__all__ = ["Evidence", "ManagedPrometheus", "NoMonitoring", "Preset"]


class ManagedPrometheus(Strict):
    """Google's managed Prometheus scrapes engine and router."""

    kind: Literal["managed_prometheus"]
    scrape_interval_s: Annotated[int, Field(ge=5, le=300)]


class NoMonitoring(Strict):
    """Nothing scrapes engine and router; GKE's own metrics stay."""

    kind: Literal["none"]


class Evidence(Strict):
    """How we know that one feature works on this preset."""

    status: Literal["measured", "documented", "derived", "unverified"]
    source: Text
    as_of: date
    note: str = ""


class Preset(Strict):
    """One composition of catalog rows."""

    schema_file: ClassVar[str] = "preset"

    description: Text
    production: bool = Field(description="Protected resources, digests required, plain HTTP only inside the VPC.")
    cluster: Annotated[NewCluster | ExistingCluster, Field(discriminator="kind")]
    network: Annotated[NewNetwork | ExistingNetwork | ClusterNetwork, Field(discriminator="kind")]
    system_pool: SystemPool
    accelerator_pools: AcceleratorPools
    model: Model
    serving: Serving
    monitoring: Annotated[ManagedPrometheus | NoMonitoring, Field(discriminator="kind")]
    evidence: dict[FeatureName, Evidence] = Field(
        description="Per feature; a feature without a line counts as unverified."
    )

    def nodes_of(self, *uses: PoolUse) -> int:
        """Return the nodes of all accelerator pools with one of these uses."""
        return sum(pool.nodes for pool in self.accelerator_pools.values() if pool.use in uses)
