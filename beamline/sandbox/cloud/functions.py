"""The lookups (Pulumi functions) that the simulated cloud answers.

Existing networks, subnetworks and clusters are those of the ledger, whichever stack or program made them.
"""

from collections.abc import Callable, Mapping
from typing import Any

from beamline.sandbox.cloud.changes import defaults_of
from beamline.sandbox.cloud.errors import CloudError
from beamline.sandbox.cloud.inventory import read_inventory
from beamline.sandbox.cloud.kinds.clusters import NODE_POOL
from beamline.sandbox.cloud.kinds.compute import CLUSTER, NETWORK, SUBNETWORK, network_of
from beamline.sandbox.cloud.ledger import Record
from beamline.sandbox.cloud.machines import region_of, zone_names
from beamline.sandbox.cloud.names import project_problem, reference, self_link
from beamline.sandbox.cloud.shapes import shaped
from beamline.sandbox.cloud.simulation import Simulation

__all__ = ["SHAPED", "call_function"]

Arguments = Mapping[str, Any]

_NOT_GOOGLES = {"deletionPolicy", "deletionProtection", "minMasterVersion", "removeDefaultNodePool"}
"""Inputs that only the provider knows: a lookup asks Google and does not see them."""


def call_function(token: str, arguments: Arguments, simulation: Simulation) -> dict[str, Any]:
    """Answer one lookup. Raises CloudError for what is not there, and for lookups that are not simulated."""
    project = arguments.get("projectId") or arguments.get("project") or simulation.project
    if reason := project_problem(project):
        raise CloudError(reason)
    if token in SHAPED:
        found = SHAPED[token](arguments, project, simulation)
        return shaped(token, {key: value for key, value in found.items() if key not in _NOT_GOOGLES})
    if token in _OTHERS:
        return _OTHERS[token](arguments, project, simulation)
    known = ", ".join(sorted(name.rpartition(":")[2] for name in {**SHAPED, **_OTHERS}))
    raise CloudError(f"the simulated Google Cloud does not know the function {token}; it answers {known}")


def _project(arguments: Arguments, project: str, simulation: Simulation) -> dict[str, Any]:  # noqa: ARG001 - one signature
    number = read_inventory(simulation).number
    return {"projectId": project, "number": number, "name": project, "id": f"projects/{project}"}


def _client(arguments: Arguments, project: str, simulation: Simulation) -> dict[str, Any]:  # noqa: ARG001 - one signature
    return {
        "project": project,
        "region": simulation.region,
        "zone": simulation.zone,
        "accessToken": "",
        "id": project,
    }


def _zones(arguments: Arguments, project: str, simulation: Simulation) -> dict[str, Any]:
    region = arguments.get("region") or simulation.region
    if region_of(region) != region:
        raise CloudError(f"googleapi: Error 400: Unknown region: {region!r}, invalid")
    return {
        "names": zone_names(region),
        "project": project,
        "region": region,
        "id": f"projects/{project}/regions/{region}",
    }


def _network(arguments: Arguments, project: str, simulation: Simulation) -> dict[str, Any]:
    found = _existing(NETWORK, reference(_named(arguments), "networks", project), simulation)
    inside = [other for other in simulation.ledger.of_type(SUBNETWORK) if network_of(other) == found.id]
    return {**_known(found), "subnetworksSelfLinks": [self_link(other.id) for other in inside]}


def _subnetwork(arguments: Arguments, project: str, simulation: Simulation) -> dict[str, Any]:
    region = arguments.get("region") or simulation.region
    return _known(_existing(SUBNETWORK, reference(_named(arguments), "subnetworks", project, region), simulation))


def _cluster(arguments: Arguments, project: str, simulation: Simulation) -> dict[str, Any]:
    location = arguments.get("location") or simulation.region or simulation.zone
    path = f"projects/{project}/locations/{location}/clusters/{arguments['name']}"
    found = _existing(CLUSTER, path, simulation)
    pools = [_known(pool) for pool in simulation.ledger.of_type(NODE_POOL, under=f"{path}/")]
    return {**_known(found), "nodePools": pools}


def _named(arguments: Arguments) -> str:
    value = arguments.get("selfLink") or arguments.get("name")
    if not value:
        raise CloudError("one of name, self_link must be specified")
    return str(value)


def _existing(kind: str, path: str, simulation: Simulation) -> Record:
    """Return a resource, or refuse in the words of Google's provider (``HandleDataSourceNotFoundError``)."""
    found = simulation.ledger.find(kind, path)
    if found is None:
        raise CloudError(f"{path} not found")
    return found


def _known(record: Record) -> dict[str, Any]:
    """Return all that is known of a resource, defaults included: Google states them."""
    return {**defaults_of(record.type), **record.inputs, **record.outputs, "id": record.id, "name": record.name}


_Lookup = Callable[[Arguments, str, Simulation], dict[str, Any]]

SHAPED: dict[str, _Lookup] = {
    "gcp:compute/getNetwork:getNetwork": _network,
    "gcp:compute/getSubnetwork:getSubnetwork": _subnetwork,
    "gcp:container/getCluster:getCluster": _cluster,
}
"""Lookups of one resource; their results have the shape of the SDK's types."""
_OTHERS: dict[str, _Lookup] = {
    "gcp:compute/getZones:getZones": _zones,
    "gcp:organizations/getClientConfig:getClientConfig": _client,
    "gcp:organizations/getProject:getProject": _project,
}
