"""What is about to be created: the checked stack, and the resources its program registers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from beamline.engine.graph import Graph, Resource
from stacks import StackSpec
from stacks.pools import Pool
from stacks.reservations import lies_within, reservation_parts
from stacks.spec import ExistingCluster

__all__ = ["Target"]


@dataclass(frozen=True)
class Target:
    """The stack that is asked about."""

    spec: StackSpec
    graph: Graph

    @property
    def project(self) -> str:
        """Google Cloud project id."""
        return self.spec.settings.project

    @property
    def region(self) -> str:
        """Region of network and cluster."""
        return self.spec.settings.region

    @property
    def zone(self) -> str:
        """Zone of all nodes."""
        return self.spec.settings.zone

    @property
    def cluster_name(self) -> str:
        """Name of the cluster, made by the stack or there already."""
        cluster = self.spec.preset.cluster
        return cluster.name if isinstance(cluster, ExistingCluster) else self.spec.prefix

    @cached_property
    def reservations(self) -> dict[str, tuple[Pool, ...]]:
        """Every reservation, or part of one, that the stack names, with the pools that name it.

        One that is written in two ways is one, and is called as it is written first.
        """
        found: dict[str, tuple[Pool, ...]] = {}
        names: dict[tuple[str, ...], str] = {}
        for pool in self.spec.pools:
            text = self.spec.reservation_of(pool)
            if text is not None:
                name = names.setdefault(reservation_parts(text, self.project), text)
                found[name] = (*found.get(name, ()), pool)
        return found

    def takers(self, name: str) -> tuple[Pool, ...]:
        """Return the pools that take nodes of a reservation, or of a part of one: also those that name less of it."""
        named = self.reservations.items()
        return tuple(pool for text, pools in named if lies_within(text, name, self.project) for pool in pools)

    @property
    def reserved_machine_types(self) -> dict[str, str]:
        """What each of them has to hold: the pools that share one are of one machine type, or there is no plan."""
        return {name: pools[0].plan.machine_type for name, pools in self.reservations.items()}

    @cached_property
    def types(self) -> tuple[str, ...]:
        """Pulumi types of the resources with a provider, sorted."""
        return tuple(sorted({resource.type for resource in self.resources() if ":" in resource.type}))

    def resources(self, kind: str = "") -> Iterator[Resource]:
        """Yield the resources that a provider makes, of one type if given."""
        for resource in self.graph.resources:
            provided = resource.custom and not resource.type.startswith("pulumi:")
            if provided and kind in ("", resource.type):
                yield resource
