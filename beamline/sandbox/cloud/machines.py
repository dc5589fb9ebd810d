"""Machine types, regions and zones as the simulated cloud knows them."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from beamline.sandbox.cloud.tables import table
from beamline.sandbox.cloud.versions import GkeVersion

__all__ = [
    "IMAGES",
    "MACHINES",
    "Domain",
    "Family",
    "Machine",
    "add_machines",
    "families",
    "family_of",
    "machine",
    "machine_names",
    "region_names",
    "region_of",
    "zone_names",
    "zone_problem",
]

_HERE = Path(__file__).parent
MACHINES = "machines.yaml"
"""The table's file, here and in the cloud folder of a sandbox that knows more machines."""
IMAGES = ("COS_CONTAINERD", "UBUNTU_CONTAINERD")
"""Image types of GKE, all of which a family has unless its row says otherwise."""
_ZONE = re.compile(r"([a-z]+-[a-z]+\d+)-([a-z])")


@dataclass(frozen=True)
class Domain:
    """An NVLink domain: how many hosts it joins, and the accelerator topology that names all of it."""

    hosts: int
    topology: str


@dataclass(frozen=True)
class Family:
    """What the machine types of one family have in common."""

    name: str
    boot_disks: tuple[str, ...]
    boot_s: float
    spot: bool
    series: str = ""
    """What GKE's label calls the family."""
    gpu: str = ""
    driver_s: float = 0
    arch: str = "amd64"
    local_ssd_gib: int = 0
    images: tuple[str, ...] = IMAGES
    on_demand: bool = True
    """Whether there are machines without a reservation that stay."""
    flex_start: bool = False
    reservations: bool = True
    autoscaling: bool = True
    periodic_maintenance: bool = False
    """Whether hosts can be reserved whose maintenance is PERIODIC."""
    shielded_nodes: bool = True
    confidential: bool = True
    nvlink_domain: Domain | None = None
    """The domain that holds all nodes of a pool; None: the family has none across nodes."""
    multi_networking: bool = True
    """Whether nodes take networks beside the cluster's that are not GKE's own."""
    network_profiles: tuple[str, ...] = ()
    rdma_devices: int = 0
    rdma_agent: bool = False
    """Whether the RDMA interfaces exist only once an agent on the node has set them up."""
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

    @property
    def bundled_ssds(self) -> int:
        """The local SSDs that come with the machine, asked for or not."""
        return 0 if 0 in self.local_ssds else max(self.local_ssds)


_tables = [_HERE / MACHINES]


def add_machines(folder: Path) -> None:
    """Know from now on also the machines in ``folder``, if it has a file of them: hardware that is not in the table.

    The file has the form of the table here. Raises ValueError for one that cannot be read, or that says a name anew.
    """
    path = folder / MACHINES
    if path in _tables or not path.exists():
        return
    _tables.append(path)
    _data.cache_clear()
    try:
        _data()
    except (AttributeError, KeyError, TypeError, ValueError, yaml.YAMLError) as error:
        _tables.remove(path)
        _data.cache_clear()
        raise ValueError(f"the simulated machines {path} cannot be read: {error}") from error


@cache
def _data() -> tuple[dict[str, Family], dict[str, Machine]]:
    families: dict[str, Family] = {}
    machines: dict[str, Machine] = {}
    for path in _tables:
        raw = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
        _take(families, {name: _family(name, row) for name, row in raw["families"].items()})
        _take(machines, _machines(raw["machines"], families))
    return families, machines


def _take(known: dict[str, Any], more: dict[str, Any]) -> None:
    if twice := sorted(known.keys() & more.keys()):
        raise ValueError(f"{', '.join(twice)} known already")
    known |= more


def _machines(raw: dict[str, dict[str, Any]], families: dict[str, Family]) -> dict[str, Machine]:
    return {
        name: Machine(
            name=name,
            family=families[family],
            vcpus=row["vcpus"],
            memory_gib=row["memory_gib"],
            gpus=row.get("gpus", 0),
            local_ssds=tuple(row.get("local_ssds", [0])),
            reserved_millicores=row.get("reserved_millicores"),
        )
        for family, rows in raw.items()
        for name, row in rows.items()
    }


def _family(name: str, row: dict[str, Any]) -> Family:
    given: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    floors = given.pop("gke_floors", {})
    domain = given.pop("nvlink_domain", None)
    given.pop("sources", None)  # for the reader of the file
    return Family(
        **{
            "name": name,
            "series": name,
            **given,
            "floors": tuple(GkeVersion.parse(floor) for floor in floors.values()),
            "nvlink_domain": Domain(**domain) if domain else None,
        }
    )


@cache
def _regions() -> dict[str, list[str]]:
    regions: dict[str, list[str]] = table("regions.yaml")
    return regions


def machine(name: str) -> Machine | None:
    """Return a machine type by name; None when the simulation does not know it."""
    return _data()[1].get(name)


def machine_names() -> list[str]:
    """Return every machine type the simulation knows."""
    return list(_data()[1])


def families() -> list[str]:
    """Return the families the simulation knows."""
    return sorted(_data()[0])


def family_of(gpu: str) -> Family | None:
    """Return the family that carries an accelerator type; None when no machine here does."""
    return next((family for family in _data()[0].values() if family.gpu == gpu), None)


def region_of(location: str) -> str | None:
    """Return the region of a region or zone name; None when Google has no such place."""
    if location in _regions():
        return location
    zone = _ZONE.fullmatch(location)
    return zone.group(1) if zone and zone.group(1) in _regions() else None


def region_names() -> list[str]:
    """Return every region."""
    return list(_regions())


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
