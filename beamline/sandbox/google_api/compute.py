"""Compute Engine: quotas, machine types, networks, certificates, disks."""

from __future__ import annotations

from typing import Any

from beamline.sandbox.cloud.kinds.compute import NETWORK, SUBNETWORK
from beamline.sandbox.cloud.ledger import Record
from beamline.sandbox.cloud.machines import Machine, machine, region_names, region_of, zone_names, zone_problem
from beamline.sandbox.cloud.quota_use import quota_uses
from beamline.sandbox.google_api.routes import Call, Route, not_found

__all__ = ["COMPUTE", "ROUTES"]

COMPUTE = "compute.googleapis.com"
_NEVER = "2099-12-31T00:00:00.000-00:00"


def _quotas(call: Call, region: str, *, of_region: bool) -> list[dict[str, Any]]:
    return [
        {"metric": use.quota.metric, "limit": use.quota.limit, "usage": use.used}
        for use in quota_uses(call.simulation, region)
        if bool(use.quota.region) is of_region and not use.quota.family
    ]


def _region(call: Call) -> dict[str, Any]:
    region = call.parts["region"]
    if region_of(region) != region:
        raise not_found(f"projects/{call.simulation.project}/regions/{region}")
    return {"kind": "compute#region", "name": region, "status": "UP", "quotas": _quotas(call, region, of_region=True)}


def _project(call: Call) -> dict[str, Any]:
    quotas = _quotas(call, next(iter(region_names())), of_region=False)
    return {"kind": "compute#project", "name": call.simulation.project, "quotas": quotas}


def _machine_types(call: Call) -> dict[str, Any]:
    found = machine(call.filtered(r'name = "([^"]+)"'))
    items: dict[str, Any] = {}
    for zone in (zone for region in region_names() for zone in zone_names(region)):
        has = found is not None and not zone_problem(found.family, zone)
        nothing = {"warning": {"code": "NO_RESULTS_ON_PAGE", "message": f"There are no results for scope '{zone}'"}}
        items[f"zones/{zone}"] = {"machineTypes": [_machine_type(found, zone)]} if found and has else nothing
    return {"kind": "compute#machineTypeAggregatedList", "items": items}


def _machine_type(found: Machine, zone: str) -> dict[str, Any]:
    gpus = [{"guestAcceleratorType": found.family.gpu, "guestAcceleratorCount": found.gpus}] if found.gpus else []
    return {
        "kind": "compute#machineType",
        "name": found.name,
        "zone": zone,
        "guestCpus": found.vcpus,
        "memoryMb": found.memory_gib * 1024,
        "architecture": {"arm64": "ARM64", "amd64": "X86_64"}[found.family.arch],
        **({"accelerators": gpus} if gpus else {}),
    }


def _link(call: Call, path: str) -> str:
    return f"https://www.googleapis.com/compute/v1/projects/{call.simulation.project}/{path}"


def _network(call: Call) -> dict[str, Any]:
    name = call.parts["network"]
    if not any(record.name == name for record in call.simulation.ledger.of_type(NETWORK)):
        raise not_found(f"projects/{call.simulation.project}/global/networks/{name}")
    return {"kind": "compute#network", "name": name, "selfLink": _link(call, f"global/networks/{name}")}


def _subnetwork(call: Call) -> dict[str, Any]:
    name = call.parts["subnetwork"]
    for record in call.simulation.ledger.of_type(SUBNETWORK):
        if (record.name, record.location) == (name, call.parts["region"]):
            return _as_subnetwork(call, record)
    raise not_found(f"projects/{call.simulation.project}/regions/{call.parts['region']}/subnetworks/{name}")


def _subnetworks(call: Call) -> dict[str, Any]:
    network, purpose = call.filtered(r'network = "([^"]+)"'), call.filtered(r'purpose = "([^"]+)"')
    here = [_as_subnetwork(call, record) for record in call.simulation.ledger.of_type(SUBNETWORK)
            if record.location == call.parts["region"]]  # fmt: skip
    items = [item for item in here if network in ("", item["network"]) and purpose in ("", item["purpose"])]
    return {"kind": "compute#subnetworkList", "items": items}


def _as_subnetwork(call: Call, record: Record) -> dict[str, Any]:
    inputs = record.inputs
    return {
        "kind": "compute#subnetwork",
        "name": record.name,
        "network": _link(call, f"global/networks/{str(inputs['network']).rpartition('/')[2]}"),
        "ipCidrRange": inputs.get("ipCidrRange", ""),
        "purpose": inputs.get("purpose") or "PRIVATE",
        "privateIpGoogleAccess": bool(inputs.get("privateIpGoogleAccess")),
        "secondaryIpRanges": [
            {"rangeName": row["rangeName"], "ipCidrRange": row["ipCidrRange"]}
            for row in inputs.get("secondaryIpRanges") or []
        ],
    }


def _certificate(call: Call) -> dict[str, Any]:
    name, known = call.parts["certificate"], call.inventory.certificates
    if known is not None and name not in known:
        raise not_found(f"projects/{call.simulation.project}/regions/{call.parts['region']}/sslCertificates/{name}")
    return {"kind": "compute#sslCertificate", "name": name, "type": "SELF_MANAGED", "expireTime": _NEVER}


def _disk(call: Call) -> dict[str, Any]:
    name, zone = call.parts["disk"], call.parts["zone"]
    found = call.inventory.disk(name, zone)
    if found is None:
        raise not_found(f"projects/{call.simulation.project}/zones/{zone}/disks/{name}")
    return {
        "kind": "compute#disk",
        "name": name,
        "zone": _link(call, f"zones/{zone}"),
        "type": _link(call, f"zones/{zone}/diskTypes/{found.type}"),
        "sizeGb": str(found.size_gb),
        "accessMode": found.access_mode,
        "provisionedThroughput": str(found.throughput_mib_per_s),
        "creationTimestamp": found.created,
        "status": "READY",
    }


_PROJECT = "compute/v1/projects/{project}"
ROUTES = (
    Route("GET", COMPUTE, _PROJECT, "compute.projects.get", _project),
    Route("GET", COMPUTE, f"{_PROJECT}/regions/{{region}}", "compute.regions.get", _region),
    Route("GET", COMPUTE, f"{_PROJECT}/aggregated/machineTypes", "compute.machineTypes.list", _machine_types),
    Route("GET", COMPUTE, f"{_PROJECT}/global/networks/{{network}}", "compute.networks.get", _network),
    Route("GET", COMPUTE, f"{_PROJECT}/regions/{{region}}/subnetworks", "compute.subnetworks.list", _subnetworks),
    Route(
        "GET",
        COMPUTE,
        f"{_PROJECT}/regions/{{region}}/subnetworks/{{subnetwork}}",
        "compute.subnetworks.get",
        _subnetwork,
    ),
    Route(
        "GET",
        COMPUTE,
        f"{_PROJECT}/regions/{{region}}/sslCertificates/{{certificate}}",
        "compute.regionSslCertificates.get",
        _certificate,
    ),
    Route("GET", COMPUTE, f"{_PROJECT}/zones/{{zone}}/disks/{{disk}}", "compute.disks.get", _disk),
)
