"""The faults that operations can run into: rows of ``fault_kinds.yaml``."""

from dataclasses import dataclass
from functools import cache

from beamline.sandbox.cloud.tables import table

__all__ = ["FaultKind", "fault_kinds"]


@dataclass(frozen=True)
class FaultKind:
    """One fault: when it strikes, whether Google's provider asks again, and the words."""

    name: str
    stage: str
    retried: str
    operations: tuple[str, ...]
    types: tuple[str, ...]
    says: str
    source: str


@cache
def fault_kinds() -> dict[str, FaultKind]:
    """Return every fault by name."""
    raw = table("fault_kinds.yaml")["faults"]
    return {
        name: FaultKind(
            name=name,
            stage=row["stage"],
            retried=row["retried"],
            operations=tuple(row["operations"]),
            types=tuple(row.get("types", [])),
            says=row["says"],
            source=row["source"],
        )
        for name, row in raw.items()
    }
