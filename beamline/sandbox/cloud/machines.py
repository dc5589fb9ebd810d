"""Machine types, regions and zones as the simulated cloud knows them."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from beamline.sandbox.cloud.versions import GkeVersion

__all__ = ["Family", "Machine", "family_of", "machine", "machine_names", "region_of", "zone_names", "zone_problem"]

_HERE = Path(__file__).parent
_ZONE = re.compile(r"([a-z]+-[a-z]+\d+)-([a-z])")


@dataclass(frozen=True)
class Family:
    """What the machine types of one family have in common."""

    name: str
    boot_disks: tuple[str, ...]
    boot_s: float
    spot: bool
    gpu: str = ""
    driver_s: float = 0
    local_ssd_gib: int = 0
    confidential: bool = True
    floors: tuple[GkeVersion, ...] = ()
    """The first GKE patch of a minor that runs the family; minors below the first entry never do."""
    zones: dict[str, list[str]] | None = None
    """Region to zone letters; an empty list means the letters are not known; None: everywhere."""


@dataclass(frozen=True)
class Machine:
    """One machine type."""

    name: str
    family: Family
    vcpus: int
    memory_gib: int
    gpus: int = 0
    local_ssds: tuple[int, ...] = (0,)
    reserved_millicores: int | None = None
    """What GKE reserves where its formula does not apply (shared-core types)."""


@cache
def _data() -> tuple[dict[str, Family], dict[str, Machine]]:
    raw = yaml.safe_load((_HERE / "machines.yaml").read_text())
    families = {name: _family(name, row) for name, row in raw["families"].items()}
    machines = {
        name: Machine(
            name=name,
            family=families[name.split("-")[0]],
            vcpus=row["vcpus"],
            memory_gib=row["memory_gib"],
            gpus=row.get("gpus", 0),
            local_ssds=tuple(row.get("local_ssds", [0])),
            reserved_millicores=row.get("reserved_millicores"),
        )
        for name, row in raw["machines"].items()
    }
    return families, machines


def _family(name: str, row: dict[str, Any]) -> Family:
    return Family(
        name=name,
        boot_disks=tuple(row["boot_disks"]),
        boot_s=row["boot_s"],
        spot=row["spot"],
        gpu=row.get("gpu", ""),
        driver_s=row.get("driver_s", 0),
        local_ssd_gib=row.get("local_ssd_gib", 0),
        confidential=row.get("confidential", True),
        floors=tuple(GkeVersion.parse(floor) for floor in row.get("gke_floors", {}).values()),
        zones=row.get("zones"),
    )


@cache
def _regions() -> dict[str, list[str]]:
    regions: dict[str, list[str]] = yaml.safe_load((_HERE / "regions.yaml").read_text())
    return regions


def machine(name: str) -> Machine | None:
    """Return a machine type by name; None when the simulation does not know it."""
    return _data()[1].get(name)


def machine_names() -> list[str]:
    """Return every machine type the simulation knows."""
    return list(_data()[1])


def family_of(gpu: str) -> Family | None:
    """Return the family that carries an accelerator type; None when no machine here does."""
    return next((family for family in _data()[0].values() if family.gpu == gpu), None)


def region_of(location: str) -> str | None:
    """Return the region of a region or zone name; None when Google has no such place."""
    if location in _regions():
        return location
    zone = _ZONE.fullmatch(location)
    return zone.group(1) if zone and zone.group(1) in _regions() else None


def zone_names(region: str) -> list[str]:
    """Return the full names of a region's zones."""
    return [f"{region}-{letter}" for letter in _regions()[region]]


def zone_problem(family: Family, zone: str) -> str:
    """Say why a zone has no machines of the family; empty when it has, or when nobody knows."""
    region = region_of(zone)
    if region is None or family.zones is None:
        return ""
    if region not in family.zones:
        return f"{family.name} is offered in {', '.join(sorted(family.zones))}"
    letters = family.zones[region]
    if letters and zone.rpartition("-")[2] not in letters:
        return f"in {region} {family.name} is offered in {', '.join(f'{region}-{letter}' for letter in letters)}"
    return ""
