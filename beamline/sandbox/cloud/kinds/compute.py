"""What the resources of Compute Engine share: their ids, their links, and how they name each other."""

import ipaddress
from collections.abc import Iterator
from typing import Any, ClassVar

from typing_extensions import override

from beamline.sandbox.cloud.errors import not_found
from beamline.sandbox.cloud.kinds.base import Identity, Inputs, Kind
from beamline.sandbox.cloud.ledger import Record
from beamline.sandbox.cloud.machines import region_of
from beamline.sandbox.cloud.names import name_problem, project_problem, reference, self_link
from beamline.sandbox.cloud.schema import Failure
from beamline.sandbox.cloud.simulation import Simulation

__all__ = [
    "CLUSTER",
    "FIREWALL",
    "FORWARDING_RULE",
    "NAT",
    "NETWORK",
    "RESOURCE_POLICY",
    "ROUTER",
    "SUBNETWORK",
    "ComputeKind",
    "cidr_problem",
    "existing_network",
    "existing_subnetwork",
    "network_of",
    "subnetwork_ranges",
]

NETWORK = "gcp:compute/network:Network"
SUBNETWORK = "gcp:compute/subnetwork:Subnetwork"
ROUTER = "gcp:compute/router:Router"
FIREWALL = "gcp:compute/firewall:Firewall"
NAT = "gcp:compute/routerNat:RouterNat"
RESOURCE_POLICY = "gcp:compute/resourcePolicy:ResourcePolicy"
CLUSTER = "gcp:container/cluster:Cluster"
FORWARDING_RULE = "simulated:compute/forwardingRule:ForwardingRule"
"""Entered by the simulated Gateway controller: a load balancer holds its network."""


class ComputeKind(Kind):
    """What the resources of Compute Engine share."""

    collection: ClassVar[str]
    regional: ClassVar[bool] = True

    @override
    def identify(self, inputs: Inputs, simulation: Simulation) -> Identity:
        project = inputs.get("project") or simulation.project
        region = (inputs.get("region") or simulation.region) if self.regional else ""
        scope = f"regions/{region}" if self.regional else "global"
        path = f"projects/{project}/{scope}/{self.collection}/{inputs['name']}"
        return Identity(path, project, region or "global", inputs["name"])

    @override
    def problems(self, inputs: Inputs, simulation: Simulation) -> Iterator[Failure]:
        if reason := name_problem(inputs.get("name", "")):
            yield Failure("name", f"Invalid value for field 'resource.name': '{inputs.get('name')}'. {reason}")
        if reason := project_problem(inputs.get("project") or simulation.project):
            yield Failure("project", reason)
        region = inputs.get("region") or simulation.region
        if (self.regional and "region" in inputs) or (self.regional and region):
            if region_of(region) != region:
                yield Failure("region", f"Unknown region: {region!r}")
        elif self.regional:
            yield Failure("region", "region: required field is not set (in the resource or the provider)")

    @override
    def outputs(self, record: Record, simulation: Simulation) -> dict[str, Any]:
        found: dict[str, Any] = {"project": record.project, "selfLink": self_link(record.id)}
        if self.regional:
            found["region"] = record.location
        return found


def subnetwork_ranges(subnetwork: Record) -> dict[str, str]:
    """Return the secondary ranges of a subnetwork, name to CIDR."""
    return {entry["rangeName"]: entry["ipCidrRange"] for entry in subnetwork.inputs.get("secondaryIpRanges") or []}


def cidr_problem(text: str, *, strict: bool = True) -> str:
    """Say why a text is no CIDR range; empty when it is one. ``strict``: no host bits."""
    try:
        ipaddress.ip_network(text, strict=strict)
    except ValueError as error:
        return f"The IP CIDR range is not valid: {error}"
    return ""


def network_of(record: Record) -> str:
    """Return the id of the network a resource is in."""
    return reference(record.inputs.get("network") or "default", "networks", record.project)


def existing_network(inputs: Inputs, project: str, simulation: Simulation) -> Record:
    """Return the network that inputs name. Raises CloudError when there is none."""
    path = reference(inputs.get("network") or "default", "networks", project)
    found = simulation.ledger.find(NETWORK, path)
    if found is None:
        raise not_found(f"The resource '{path}' was not found")
    return found


def existing_subnetwork(value: str, project: str, region: str, simulation: Simulation) -> Record:
    """Return the subnetwork of that name, path or link. Raises CloudError when there is none."""
    path = reference(value, "subnetworks", project, region)
    found = simulation.ledger.find(SUBNETWORK, path)
    if found is None:
        raise not_found(f"The resource '{path}' was not found")
    return found
