"""Google Kubernetes Engine: the versions it offers, and the clusters there are."""

from __future__ import annotations

from typing import Any

from beamline.sandbox.cloud.inventory import ChannelVersions
from beamline.sandbox.cloud.kinds.clusters import NODE_POOL
from beamline.sandbox.cloud.kinds.compute import CLUSTER
from beamline.sandbox.cloud.ledger import Record, State
from beamline.sandbox.google_api.routes import Call, Route, not_found

__all__ = ["ROUTES"]

_CONTAINER = "container.googleapis.com"
_NO_CHANNEL = "UNSPECIFIED"
_CHANNELS = ("RAPID", "REGULAR", "STABLE", "EXTENDED")
_STATES = {State.WORKING: "RECONCILING", State.RUNNING: "RUNNING", State.FAILED: "ERROR", State.DELETING: "STOPPING"}


def _server_config(call: Call) -> dict[str, Any]:
    """Answer with the listed versions: a list cannot say that others would be taken, too."""
    offered = {name: call.inventory.offered(name, call.parts["location"]) for name in (*_CHANNELS, _NO_CHANNEL)}
    free = offered.pop(_NO_CHANNEL)
    rows = [row for row in (*offered.values(), free) if row]
    return {
        "channels": [_channel(row) for row in offered.values() if row],
        "validMasterVersions": sorted({version for row in rows for version in row.masters}),
        "validNodeVersions": sorted({version for row in rows for version in row.nodes}),
        "defaultClusterVersion": free.default if free else "",
    }


def _channel(row: ChannelVersions) -> dict[str, Any]:
    return {"channel": row.channel, "defaultVersion": row.default, "validVersions": list(row.masters)}


def _cluster(call: Call) -> dict[str, Any]:
    name, location = call.parts["cluster"], call.parts["location"]
    path = f"projects/{call.simulation.project}/locations/{location}/clusters/{name}"
    for record in call.simulation.ledger.of_type(CLUSTER):
        if (record.name, record.location) == (name, location):
            pools = call.simulation.ledger.of_type(NODE_POOL, under=f"{record.id}/")
            return {
                "name": name,
                "location": location,
                "status": _STATES[record.state],
                "currentMasterVersion": record.outputs.get("masterVersion", ""),
                "subnetwork": str(record.inputs.get("subnetwork") or "").rpartition("/")[2],
                "addonsConfig": record.inputs.get("addonsConfig") or {},
                "nodePools": [_pool(pool) for pool in pools],
            }
    raise not_found(path)


def _pool(record: Record) -> dict[str, Any]:
    affinity = (record.inputs.get("nodeConfig") or {}).get("reservationAffinity") or {}
    return {
        "name": record.name,
        "initialNodeCount": int(record.inputs.get("nodeCount") or 0),
        "version": record.inputs.get("version") or "",
        "config": {"reservationAffinity": {"values": list(affinity.get("values") or [])}},
    }


_LOCATION = "v1/projects/{project}/locations/{location}"
ROUTES = (
    Route("GET", _CONTAINER, f"{_LOCATION}/serverConfig", "container.clusters.list", _server_config),
    Route("GET", _CONTAINER, f"{_LOCATION}/clusters/{{cluster}}", "container.clusters.get", _cluster),
)
