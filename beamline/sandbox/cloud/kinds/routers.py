"""Cloud Routers and the NAT on them."""

from collections.abc import Iterator
from typing import Any

from typing_extensions import override

from beamline.sandbox.cloud.errors import CloudError, bad_request, not_found
from beamline.sandbox.cloud.kinds.base import Identity, Inputs
from beamline.sandbox.cloud.kinds.compute import NAT, ROUTER, ComputeKind, existing_network, existing_subnetwork
from beamline.sandbox.cloud.ledger import Record
from beamline.sandbox.cloud.names import last, reference
from beamline.sandbox.cloud.schema import Failure
from beamline.sandbox.cloud.simulation import Simulation

__all__ = ["Router", "RouterNat"]


class Router(ComputeKind):
    """A Cloud Router."""

    token = ROUTER
    title = "Router"
    collection = "routers"
    computed = ("creationTimestamp", "project", "region", "selfLink")

    @override
    def before_create(self, identity: Identity, inputs: Inputs, simulation: Simulation) -> None:
        existing_network(inputs, identity.project, simulation)

    @override
    def outputs(self, record: Record, simulation: Simulation) -> dict[str, Any]:
        return super().outputs(record, simulation) | {"creationTimestamp": record.created}

    @override
    def remove(self, record: Record, simulation: Simulation) -> None:
        """A NAT is part of its router and goes with it."""
        for nat in simulation.ledger.of_type(NAT, under=f"{record.project}/{record.location}/{record.name}/"):
            simulation.ledger.remove(NAT, nat.id)


class RouterNat(ComputeKind):
    """A Cloud NAT on a router."""

    token = NAT
    title = "RouterNat"
    collection = "routers"
    create_s, delete_s = 20, 20
    computed = ("project", "region")

    @override
    def identify(self, inputs: Inputs, simulation: Simulation) -> Identity:
        project, region = inputs.get("project") or simulation.project, inputs.get("region") or simulation.region
        path = f"{project}/{region}/{last(inputs['router'])}/{inputs['name']}"
        return Identity(path, project, region, inputs["name"])

    @override
    def problems(self, inputs: Inputs, simulation: Simulation) -> Iterator[Failure]:
        yield from super().problems(inputs, simulation)
        source = inputs.get("sourceSubnetworkIpRangesToNat")
        listed = bool(inputs.get("subnetworks"))
        choices = ("ALL_SUBNETWORKS_ALL_IP_RANGES", "ALL_SUBNETWORKS_ALL_PRIMARY_IP_RANGES", "LIST_OF_SUBNETWORKS")
        if source is not None and source not in choices:
            yield Failure("sourceSubnetworkIpRangesToNat", f"expected one of {list(choices)}, got {source}")
        if (source == "LIST_OF_SUBNETWORKS") is not listed and source in choices and "subnetworks" in inputs:
            yield Failure("subnetworks", "subnetworks goes with sourceSubnetworkIpRangesToNat = LIST_OF_SUBNETWORKS")
        if inputs.get("natIpAllocateOption") == "MANUAL_ONLY" and not inputs.get("natIps"):
            yield Failure("natIps", "natIpAllocateOption MANUAL_ONLY needs natIps")
        ports = inputs.get("minPortsPerVm")
        if inputs.get("enableDynamicPortAllocation") and ports is not None and (ports < 32 or ports & (ports - 1)):  # noqa: PLR2004
            yield Failure(
                "minPortsPerVm", f"with dynamic port allocation it must be a power of two, at least 32; got {ports}"
            )

    @override
    def before_create(self, identity: Identity, inputs: Inputs, simulation: Simulation) -> None:
        router = reference(inputs["router"], "routers", identity.project, identity.location)
        if simulation.ledger.find(ROUTER, router) is None:
            raise not_found(f"The resource '{router}' was not found")
        for entry in inputs.get("subnetworks") or []:
            existing_subnetwork(entry["name"], identity.project, identity.location, simulation)

    @override
    def exists_already(self, identity: Identity) -> CloudError:
        return bad_request(f"Nat {identity.name} already exists")

    @override
    def outputs(self, record: Record, simulation: Simulation) -> dict[str, Any]:
        return {"project": record.project, "region": record.location}
