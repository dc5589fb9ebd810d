"""VPC firewall rules."""

from collections.abc import Iterator
from typing import Any

from typing_extensions import override

from beamline.sandbox.cloud.kinds.base import Identity, Inputs
from beamline.sandbox.cloud.kinds.compute import FIREWALL, ComputeKind, cidr_problem, existing_network
from beamline.sandbox.cloud.ledger import Record
from beamline.sandbox.cloud.schema import Failure
from beamline.sandbox.cloud.simulation import Simulation

__all__ = ["Firewall"]


class Firewall(ComputeKind):
    """A VPC firewall rule."""

    token = FIREWALL
    title = "Firewall"
    collection = "firewalls"
    regional = False
    computed = ("creationTimestamp", "direction", "priority", "project", "selfLink")

    @override
    def problems(self, inputs: Inputs, simulation: Simulation) -> Iterator[Failure]:
        yield from super().problems(inputs, simulation)
        if bool(inputs.get("allows")) is bool(inputs.get("denies")):
            yield Failure("allows", "exactly one of allows, denies must be specified")
        for key in ("sourceRanges", "destinationRanges"):
            for index, text in enumerate(inputs.get(key) or []):
                if reason := cidr_problem(text, strict=False):
                    yield Failure(f"{key}[{index}]", reason)
        ingress = inputs.get("direction", "INGRESS") == "INGRESS"
        sources = [k for k in ("sourceRanges", "sourceTags", "sourceServiceAccounts") if inputs.get(k)]
        if ingress and not sources:
            yield Failure(
                "sourceRanges",
                "one of sourceRanges, sourceTags, or sourceServiceAccounts must be defined in an INGRESS rule",
            )
        if not ingress and sources:
            yield Failure(sources[0], "an EGRESS rule has destinationRanges, no sources")

    @override
    def before_create(self, identity: Identity, inputs: Inputs, simulation: Simulation) -> None:
        existing_network(inputs, identity.project, simulation)

    @override
    def outputs(self, record: Record, simulation: Simulation) -> dict[str, Any]:
        return super().outputs(record, simulation) | {
            "creationTimestamp": record.created,
            "direction": record.inputs.get("direction", "INGRESS"),
            "priority": record.inputs.get("priority", 1000),
        }
