"""The lookups (Pulumi functions) that the simulated cloud answers."""

from collections.abc import Mapping
from typing import Any

from beamline.sandbox.cloud.errors import CloudError
from beamline.sandbox.cloud.machines import region_of, zone_names
from beamline.sandbox.cloud.names import PROJECT_NUMBER, project_problem
from beamline.sandbox.cloud.simulation import Simulation

__all__ = ["call_function"]


def call_function(token: str, arguments: Mapping[str, Any], simulation: Simulation) -> dict[str, Any]:
    """Answer one lookup. Raises CloudError for those that are not simulated."""
    project = arguments.get("projectId") or arguments.get("project") or simulation.project
    if reason := project_problem(project):
        raise CloudError(reason)
    if token == "gcp:organizations/getProject:getProject":  # noqa: S105 - a function token
        return {"projectId": project, "number": PROJECT_NUMBER, "name": project, "id": f"projects/{project}"}
    if token == "gcp:organizations/getClientConfig:getClientConfig":  # noqa: S105 - a function token
        return {
            "project": project,
            "region": simulation.region,
            "zone": simulation.zone,
            "accessToken": "",
            "id": project,
        }
    if token == "gcp:compute/getZones:getZones":  # noqa: S105 - a function token
        region = arguments.get("region") or simulation.region
        if region_of(region) != region:
            raise CloudError(f"googleapi: Error 400: Unknown region: {region!r}, invalid")
        return {
            "names": zone_names(region),
            "project": project,
            "region": region,
            "id": f"projects/{project}/regions/{region}",
        }
    raise CloudError(
        f"the simulated Google Cloud does not know the function {token}; it answers getProject, getClientConfig and "
        "getZones"
    )
