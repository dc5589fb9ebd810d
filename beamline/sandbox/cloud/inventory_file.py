"""The file ``project.yaml``: its keys, and how a sandbox's own changes the defaults."""

from pathlib import Path
from typing import Any

from beamline.sandbox.cloud.machines import machine, region_of
from beamline.sandbox.cloud.quota_metrics import metrics
from beamline.sandbox.cloud.reservations import reservation_parts, reservation_problem
from beamline.sandbox.cloud.strict_yaml import Column, StrictFile
from beamline.sandbox.cloud.tables import table
from beamline.sandbox.cloud.versions import GkeVersion

__all__ = ["merged_project"]

_PRINCIPALS = ("deployer", "gke_service_agent", "compute_default")
_CHANNELS = ("RAPID", "REGULAR", "STABLE", "EXTENDED", "UNSPECIFIED")
_SUB_BLOCK = {
    "name": Column(required=True),
    "hosts": Column(int, required=True, least=1),
    "healthy_hosts": Column(int, least=0),
}
_BLOCK = {"name": Column(required=True), "sub_blocks": Column(dict, required=True, rows=_SUB_BLOCK)}
_RESERVATION = {
    "name": Column(required=True),
    "zone": Column(required=True),
    "machine_type": Column(required=True),
    "count": Column(int, least=1),
    "specific": Column(bool),
    "shared_with": Column(list),
    "blocks": Column(dict, rows=_BLOCK),
    "maintenance_interval": Column(choices=("PERIODIC",)),
}
_QUOTA = {
    "metric": Column(required=True, choices=tuple(metrics())),
    "limit": Column(float, required=True, least=0),
    "region": Column(),
    "family": Column(),
}
_VERSIONS = {
    "channel": Column(required=True, choices=_CHANNELS),
    "default": Column(required=True),
    "masters": Column(list, required=True),
    "nodes": Column(list),
    "location": Column(),
}
_DISK = {
    "name": Column(required=True),
    "zone": Column(required=True),
    "type": Column(required=True),
    "size_gb": Column(int, required=True, least=1),
    "access_mode": Column(choices=("READ_WRITE_SINGLE", "READ_WRITE_MANY", "READ_ONLY_MANY")),
    "throughput_mib_per_s": Column(int, least=0),
    "created": Column(),
}
_ANY = Column(list, choices=("any",))
_KEYS = {
    "number": Column(),
    "apis": Column(bool, keyed=True),
    "roles": Column(list, keyed=True),
    "quotas": Column(dict, rows=_QUOTA),
    "reservations": Column(dict, rows=_RESERVATION),
    "other_reservations": Column(choices=("whole", "missing")),
    "disks": Column(dict, rows=_DISK),
    "other_disks": Column(choices=("whole", "missing")),
    "versions": Column(dict, rows=_VERSIONS),
    "other_versions": Column(choices=("offered", "refused")),
    "secrets": _ANY,
    "buckets": _ANY,
    "certificates": _ANY,
    "repositories": _ANY,
}


def merged_project(path: Path | None) -> dict[str, Any]:
    """Return the defaults with a sandbox's own file, where there is one, laid over them. Raises CloudError.

    Services, principals, limits and channels that the file does not name keep their defaults.
    """
    raw: dict[str, Any] = table("project.yaml")
    own = _checked(path) if path else {}
    for key in ("apis", "roles"):
        raw[key] |= own.pop(key, {})
    for key, names in (("quotas", ("metric", "region", "family")), ("versions", ("channel", "location"))):
        rows = own.pop(key, [])
        named = [[row.get(name) for name in names] for row in rows]
        raw[key] = [row for row in raw[key] if [row.get(name) for name in names] not in named] + rows
    return raw | own


def _checked(path: Path) -> dict[str, Any]:
    file = StrictFile(path)
    own = file.row("", file.load(), _KEYS)
    file.close()  # the rules below speak of rows that are complete
    if "number" in own and not own["number"].isdigit():
        file.problem(f"number: a text of digits is expected, not {own['number']!r}")
    for principal in own.get("roles", {}):
        if principal not in _PRINCIPALS and ":" not in principal:
            file.problem(
                f"roles.{principal}: is no principal; write {', '.join(_PRINCIPALS)} or a member such as "
                "serviceAccount:EMAIL"
            )
    for index, row in enumerate(own.get("quotas", [])):
        _check_quota(file, f"quotas[{index}]", row)
    for index, row in enumerate(own.get("reservations", [])):
        _check_reservation(file, f"reservations[{index}]", row)
    for index, row in enumerate(own.get("disks", [])):
        if region_of(row["zone"]) in (None, row["zone"]):
            file.problem(f"disks[{index}].zone: there is no zone {row['zone']!r}")
    for index, row in enumerate(own.get("versions", [])):
        _check_versions(file, f"versions[{index}]", row)
    file.close()
    return own


def _check_quota(file: StrictFile, at: str, row: dict[str, Any]) -> None:
    metric = metrics()[row["metric"]]
    if "family" in row and not metric.dimension:
        file.problem(f"{at}.family: {metric.name} has one limit, whatever the family")
    if "region" in row and metric.scope == "global":
        file.problem(f"{at}.region: {metric.name} is a quota of the project, not of a region")
    elif "region" in row and region_of(row["region"]) != row["region"]:
        file.problem(f"{at}.region: there is no region {row['region']!r}")


def _check_reservation(file: StrictFile, at: str, row: dict[str, Any]) -> None:
    if reservation_problem(row["name"]) or not row["name"].startswith("projects/") or reservation_parts(row["name"])[2]:
        file.problem(f"{at}.name: projects/PROJECT/reservations/NAME is expected, not {row['name']!r}")
    if region_of(row["zone"]) in (None, row["zone"]):
        file.problem(f"{at}.zone: there is no zone {row['zone']!r}")
    made = machine(row["machine_type"])
    if made is None:
        file.problem(f"{at}.machine_type: the simulated cloud has no machine type {row['machine_type']!r}")
    elif row.get("maintenance_interval") and not made.family.periodic_maintenance:
        file.problem(f"{at}.maintenance_interval: {row['machine_type']} has no machines whose maintenance is PERIODIC")
    if ("count" in row) is bool(row.get("blocks")):
        file.problem(f"{at}: a reservation has either count or blocks")
    for b, block in enumerate(row.get("blocks", [])):
        for s, part in enumerate(block["sub_blocks"]):
            if part.get("healthy_hosts", 0) > part["hosts"]:
                file.problem(
                    f"{at}.blocks[{b}].sub_blocks[{s}].healthy_hosts: {part['healthy_hosts']} is more than its "
                    f"{part['hosts']} hosts"
                )


def _check_versions(file: StrictFile, at: str, row: dict[str, Any]) -> None:
    for key in ("default", "masters", "nodes"):
        values = row.get(key, [])
        for value in [values] if isinstance(values, str) else values:
            try:
                GkeVersion.parse(value)
            except ValueError as error:
                file.problem(f"{at}.{key}: {error}")
    if row["default"] not in row["masters"]:
        file.problem(f"{at}.default: {row['default']} is none of its masters")
    if "location" in row and region_of(row["location"]) is None:
        file.problem(f"{at}.location: there is no region or zone {row['location']!r}")
