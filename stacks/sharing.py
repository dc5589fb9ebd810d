"""Which machine types may stand in one cluster, and why some may not.

Some settings of a cluster are of all its nodes, and machines differ in what they need there.
"""

from __future__ import annotations

from stacks.rows import HardwareRow

__all__ = ["cluster_conflict"]


def cluster_conflict(one: HardwareRow, other: HardwareRow) -> str | None:
    """Say why pools of the two machine types cannot share a cluster; None where they can."""
    if one.gke.shielded_nodes != other.gke.shielded_nodes:
        bare, virtual = (other, one) if one.gke.shielded_nodes else (one, other)
        return (
            f"{bare.machine_type} needs Shielded Nodes off, which is a switch of the whole cluster; "
            f"{virtual.machine_type} would run without verified boot"
        )
    return None
