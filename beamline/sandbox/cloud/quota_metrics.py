"""The quota metrics of the simulated project: rows of ``quotas.yaml``."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from beamline.sandbox.cloud.tables import table

__all__ = ["Metric", "metrics"]


@dataclass(frozen=True)
class Metric:
    """One quota metric, and what counts towards it."""

    name: str
    scope: str
    """``region`` or ``global``."""
    counts: str
    dimension: str = ""
    """``gpu_family`` or ``vm_family`` where there is a limit per family."""
    of_families: tuple[str, ...] = ()
    not_families: tuple[str, ...] = ()
    of_gpus: tuple[str, ...] = ()
    of_disks: tuple[str, ...] = ()
    of_types: tuple[str, ...] = ()
    capacity: str = "any"

    @property
    def quota_id(self) -> str:
        """The name of the quota in the Cloud Quotas API."""
        return self.name.replace("_", "-") + ("-per-project-region" if self.scope == "region" else "-per-project")


@cache
def metrics() -> dict[str, Metric]:
    """Return every metric by name."""
    raw = table("quotas.yaml")["metrics"]
    return {name: Metric(name=name, **_fields(row)) for name, row in raw.items()}


def _fields(row: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
