"""The accelerator pools of a stack: each with its plan, its machine's row, and what follows from the two.

Engine pods are one workload with one set of flags, so all pools that serve are of one machine type, and
``rows.hardware`` is theirs. A pool that stands by or is drained may be of another: what concerns the pool alone goes by
its own row.
"""

from __future__ import annotations

from dataclasses import dataclass

from stacks.row_lookup import Rows
from stacks.rows import HardwareRow
from stacks.spec import AcceleratorPool, Preset, Reservation

__all__ = ["Pool", "accelerator_pools", "local_ssd_count"]

STARTUP_SAFETY = 2
"""Budgets are this many times the expected duration: a slow day must not fail an apply."""


def local_ssd_count(plan: AcceleratorPool, row: HardwareRow) -> int:
    """Local SSDs of a node: as written, else the machine type's own count."""
    return row.local_ssd.count if plan.local_ssd_count is None else plan.local_ssd_count


@dataclass(frozen=True)
class Pool:
    """One accelerator pool."""

    name: str
    plan: AcceleratorPool
    row: HardwareRow

    @property
    def path(self) -> str:
        """Where a preset says it."""
        return f"accelerator_pools.{self.name}"

    @property
    def serves(self) -> bool:
        """Whether engine pods may be placed on it."""
        return self.plan.use == "serving"

    @property
    def drains(self) -> bool:
        """Whether engine pods move off it."""
        return self.plan.use == "draining"

    @property
    def reserved(self) -> bool:
        """Whether its nodes come from a reservation."""
        return isinstance(self.plan.provisioning, Reservation)

    @property
    def local_ssd_count(self) -> int:
        """Local SSDs of one node."""
        return local_ssd_count(self.plan, self.row)

    @property
    def local_ssd_gib_per_node(self) -> int:
        """All local SSDs of one node."""
        return self.local_ssd_count * self.row.local_ssd.size_gib

    @property
    def node_budget_s(self) -> int:
        """Seconds one node may take to come or to go."""
        return STARTUP_SAFETY * self.row.throughput.boot_s * 2

    @property
    def node_usd_per_hour(self) -> float | None:
        """What a node costs as it is had; flex-start has prices of its own, which nobody lists by machine type."""
        price = self.row.price
        sold = {"on_demand": price.usd_per_hour, "reservation": price.usd_per_hour, "spot": price.spot_usd_per_hour}
        return sold.get(self.plan.provisioning.kind)

    def differences(self, other: Pool) -> dict[str, tuple[object, object]]:
        """What of ``other`` takes other flags, sizes or folders than this pool: by key, this pool's value and its."""
        said: dict[str, tuple[object, object]] = {
            "machine_type": (self.plan.machine_type, other.plan.machine_type),
            "local_ssd_count": (self.local_ssd_count, other.local_ssd_count),
            "local_ssd_mode": (self.plan.local_ssd_mode, other.plan.local_ssd_mode),
        }
        if other.plan.machine_type != self.plan.machine_type:
            del said["local_ssd_count"]  # it comes with the machine type
        return {key: (own, its) for key, (own, its) in said.items() if own != its}


def accelerator_pools(preset: Preset, rows: Rows) -> tuple[Pool, ...]:
    """Return all accelerator pools in the order they are written."""
    return tuple(Pool(name, plan, rows.pools[name]) for name, plan in preset.accelerator_pools.items())
