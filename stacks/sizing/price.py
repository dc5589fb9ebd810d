"""What a stack costs by the hour."""

from __future__ import annotations

from collections.abc import Sequence

from stacks.derived import Derived
from stacks.pools import Pool
from stacks.sizing.figures import Basis, Figure, Section
from stacks.wording import some

__all__ = ["price"]


def price(pools: Sequence[Pool], derived: Derived) -> Section:
    """Return list prices of all accelerator pools; what is unknown stays so."""
    parts = " + ".join(
        f"{pool.plan.nodes} x {'unknown' if pool.node_usd_per_hour is None else f'{pool.node_usd_per_hour:.4f}'} "
        f"({pool.plan.machine_type}, {str(pool.plan.provisioning.kind).replace('_', ' ')})"
        for pool in pools
    )
    sources = "; ".join(dict.fromkeys(f"{pool.row.price.region}: {pool.row.price.source}" for pool in pools))
    total = derived.usd_per_hour
    basis: Basis = "unknown" if total is None else "catalog"
    figures = (
        Figure("accelerator_nodes", total, "USD/h", f"{parts}. {sources}", basis),
        Figure(
            "replica",
            None if total is None else round(total / derived.replicas, 4),
            "USD/h",
            f"accelerator_nodes / {some(derived.replicas, 'replica')}; nodes that stand by or are drained count",
            basis if total is None else "derived",
        ),
        *(
            Figure(
                name, usd, "USD/h", f"accelerator nodes, committed for {term}", "unknown" if usd is None else "catalog"
            )
            for name, term, usd in (
                ("one_year", "a year", derived.usd_per_hour_one_year),
                ("three_years", "three years", derived.usd_per_hour_three_years),
            )
        ),
    )
    return Section("price", "price (system nodes, disks, traffic and load balancers come on top)", figures)
