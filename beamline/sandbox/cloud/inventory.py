"""What the simulated Google project has, whatever stacks made in it: APIs, roles, quotas, reservations, GKE versions.

The defaults are ``project.yaml`` beside this file. A file ``project.yaml`` in the ``cloud`` folder of a sandbox changes
them; it is read whenever it matters, so a project can change while its sandbox runs. What is *used* follows from the
ledger.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from beamline.sandbox.cloud.inventory_file import merged_project
from beamline.sandbox.cloud.machines import region_of
from beamline.sandbox.cloud.quota_metrics import metrics
from beamline.sandbox.cloud.reservations import reservation_parts
from beamline.sandbox.cloud.simulation import Simulation
from beamline.sandbox.cloud.versions import SERVED_MINORS, GkeVersion

__all__ = [
    "PROJECT_FILE",
    "ChannelVersions",
    "Disk",
    "Inventory",
    "Quota",
    "Reservation",
    "ReservedBlock",
    "ReservedSubBlock",
    "read_inventory",
]

PROJECT_FILE = "project.yaml"


@dataclass(frozen=True)
class Quota:
    """A limit. ``region`` is empty for a global quota, ``family`` where the metric has no dimension."""

    metric: str
    limit: float
    region: str = ""
    family: str = ""

    @property
    def quota_id(self) -> str:
        """The name of the quota in the Cloud Quotas API, such as ``NVIDIA-L4-GPUS-per-project-region``."""
        return metrics()[self.metric].quota_id


@dataclass(frozen=True)
class ReservedSubBlock:
    """The hosts of one NVLink domain."""

    name: str
    hosts: int
    healthy_hosts: int


@dataclass(frozen=True)
class ReservedBlock:
    """A block of a reservation."""

    name: str
    sub_blocks: tuple[ReservedSubBlock, ...]


@dataclass(frozen=True)
class Reservation:
    """A reservation the project knows of; ``project`` owns it. A reservation without blocks has ``count`` machines.

    An assumed reservation stands for any name that is not listed: ``machine_type`` and ``zone`` are empty unless the
    one who asks says what they need, and its hosts are as many as the machine's NVLink domain has.
    """

    project: str
    name: str
    zone: str
    machine_type: str
    count: int
    specific: bool = True
    """Machines use it only when they name it (``specificReservationRequired``)."""
    shared_with: tuple[str, ...] = ()
    """Projects besides the owner that may use it."""
    blocks: tuple[ReservedBlock, ...] = ()
    maintenance_interval: str = ""
    """What its machines were reserved for: PERIODIC, or nothing."""
    assumed: bool = False

    @property
    def path(self) -> str:
        """The path as a node pool names it."""
        return f"projects/{self.project}/reservations/{self.name}"

    def usable_by(self, project: str) -> bool:
        """Tell whether a project may use it."""
        return self.assumed or project == self.project or project in self.shared_with

    def block(self, name: str) -> ReservedBlock | None:
        """Return a block by name; None when there is none."""
        return next((block for block in self.blocks if block.name == name), None)

    def sub_block(self, block: str, name: str) -> ReservedSubBlock | None:
        """Return a sub-block by its names; None when there is none."""
        found = self.block(block)
        return next((part for part in found.sub_blocks if part.name == name), None) if found else None


@dataclass(frozen=True)
class ChannelVersions:
    """What GKE offers in one release channel; ``UNSPECIFIED`` is no channel."""

    channel: str
    default: str
    masters: tuple[str, ...]
    nodes: tuple[str, ...]
    location: str = ""
    """A region or zone the row is for; empty for everywhere else."""


@dataclass(frozen=True)
class Disk:
    """A disk of Compute Engine that somebody made."""

    name: str
    zone: str
    type: str
    size_gb: int
    access_mode: str = "READ_WRITE_SINGLE"
    throughput_mib_per_s: int = 0
    created: str = "2026-06-01T00:00:00.000-07:00"


@dataclass(frozen=True)
class Inventory:
    """The simulated project."""

    number: str
    apis: frozenset[str]
    """Names of the services that are enabled."""
    roles: Mapping[str, frozenset[str]]
    """Principal to its roles on the project: ``deployer``, ``gke_service_agent``, ``compute_default``, or a member."""
    quotas: tuple[Quota, ...]
    reservations: tuple[Reservation, ...]
    other_reservations: bool
    """Whether any well-formed name that is not listed is a reservation that exists and is whole."""
    disks: tuple[Disk, ...]
    other_disks: bool
    """Whether any name that is not listed is a Hyperdisk ML volume that suits whoever names it."""
    versions: tuple[ChannelVersions, ...]
    other_versions: bool
    """Whether GKE also offers patches of a served minor that are not listed."""
    secrets: frozenset[str] | None = field(default=None)
    """Names in Secret Manager; None: whatever is named exists. The same holds for the three below."""
    buckets: frozenset[str] | None = field(default=None)
    certificates: frozenset[str] | None = field(default=None)
    """Regional SSL certificates of Compute Engine."""
    repositories: frozenset[str] | None = field(default=None)
    """Repositories of Artifact Registry, by their last name."""

    @property
    def gke_service_agent(self) -> str:
        """The account GKE works with in the project."""
        return f"service-{self.number}@container-engine-robot.iam.gserviceaccount.com"

    @property
    def compute_default_account(self) -> str:
        """The account of machines that name none."""
        return f"{self.number}-compute@developer.gserviceaccount.com"

    def member_roles(self) -> dict[str, frozenset[str]]:
        """Return roles by member, as an IAM policy lists them; the deployer keeps the name ``deployer``."""
        members = {
            "gke_service_agent": f"serviceAccount:{self.gke_service_agent}",
            "compute_default": f"serviceAccount:{self.compute_default_account}",
        }
        return {members.get(principal, principal): roles for principal, roles in self.roles.items()}

    def quota(self, metric: str, region: str = "", family: str = "") -> Quota | None:
        """Return the limit that counts in a region and for a family; None when the metric has no limit."""
        found = [
            quota
            for quota in self.quotas
            if quota.metric == metric and quota.region in ("", region) and quota.family in ("", family)
        ]
        best = max(found, key=lambda quota: (bool(quota.family), bool(quota.region)), default=None)
        return Quota(metric, best.limit, region, family) if best else None

    def reservation(self, path: str, machine_type: str = "", zone: str = "") -> Reservation | None:
        """Return the reservation of a path ``projects/P/reservations/R``, which may go on to a block or sub-block.

        ``machine_type`` and ``zone`` are what an assumed reservation is made of. None: there is none.
        """
        project, name, _, _ = reservation_parts(path)
        for found in self.reservations:
            if (found.project, found.name) == (project, name):
                return found
        if not self.other_reservations:
            return None
        return Reservation(project, name, zone, machine_type, count=0, assumed=True)

    def disk(self, name: str, zone: str) -> Disk | None:
        """Return a disk of a zone; None: there is none."""
        for found in self.disks:
            if (found.name, found.zone) == (name, zone):
                return found
        return Disk(name, zone, "hyperdisk-ml", 65_536, "READ_ONLY_MANY", 2_097_152) if self.other_disks else None

    def offered(self, channel: str, location: str) -> ChannelVersions | None:
        """Return what GKE offers in a channel at a place: the row for the zone, else for its region, else for all."""
        places = [location, region_of(location) or location, ""]
        rows = {row.location: row for row in self.versions if row.channel == channel}
        return next((rows[place] for place in places if place in rows), None)

    def offers(self, version: GkeVersion, channel: str, location: str, *, of: str = "masters") -> bool:
        """Tell whether GKE has a version for new control planes (``masters``) or ``nodes``."""
        row = self.offered(channel, location)
        listed = (row.masters if of == "masters" else row.nodes) if row else ()
        served = (version.major, version.minor) in SERVED_MINORS
        return str(version) in listed or (self.other_versions and served)


def read_inventory(simulation_or_folder: Simulation | Path) -> Inventory:
    """Return the simulated project of a sandbox. A folder is the sandbox's ``cloud`` folder.

    Raises CloudError for a ``project.yaml`` that says nothing clear, with everything that is wrong in it.
    """
    folder = simulation_or_folder if isinstance(simulation_or_folder, Path) else simulation_or_folder.folder
    path = folder / PROJECT_FILE
    return _inventory(merged_project(path)) if path.exists() else _default()


@cache
def _default() -> Inventory:
    return _inventory(merged_project(None))


def _inventory(raw: dict[str, Any]) -> Inventory:
    return Inventory(
        number=raw["number"],
        apis=frozenset(name for name, enabled in raw["apis"].items() if enabled),
        roles={principal: frozenset(roles) for principal, roles in raw["roles"].items()},
        quotas=tuple(Quota(**row) for row in raw["quotas"]),
        reservations=tuple(_reservation(row) for row in raw["reservations"]),
        other_reservations=raw["other_reservations"] == "whole",
        disks=tuple(Disk(**row) for row in raw["disks"]),
        other_disks=raw["other_disks"] == "whole",
        versions=tuple(_versions(row) for row in raw["versions"]),
        other_versions=raw["other_versions"] == "offered",
        **{
            key: None if raw[key] == "any" else frozenset(raw[key])
            for key in ("secrets", "buckets", "certificates", "repositories")
        },
    )


def _reservation(row: dict[str, Any]) -> Reservation:
    project, name, _, _ = reservation_parts(row["name"])
    blocks = tuple(
        ReservedBlock(
            block["name"],
            tuple(
                ReservedSubBlock(part["name"], part["hosts"], part.get("healthy_hosts", part["hosts"]))
                for part in block["sub_blocks"]
            ),
        )
        for block in row.get("blocks", [])
    )
    hosts = sum(part.hosts for block in blocks for part in block.sub_blocks)
    return Reservation(
        project=project,
        name=name,
        zone=row["zone"],
        machine_type=row["machine_type"],
        count=row.get("count", hosts),
        specific=row.get("specific", True),
        shared_with=tuple(row.get("shared_with", [])),
        blocks=blocks,
        maintenance_interval=row.get("maintenance_interval", ""),
    )


def _versions(row: dict[str, Any]) -> ChannelVersions:
    masters = tuple(row["masters"])
    return ChannelVersions(
        row["channel"], row["default"], masters, tuple(row.get("nodes", masters)), row.get("location", "")
    )
