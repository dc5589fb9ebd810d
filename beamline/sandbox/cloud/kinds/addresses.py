"""Static addresses. What the simulated cloud hands out is from ranges that are nobody's: RFC 1918 and RFC 5737."""

from typing import Any, ClassVar

from typing_extensions import override

from beamline.sandbox.cloud.kinds.compute import ComputeKind
from beamline.sandbox.cloud.ledger import Record
from beamline.sandbox.cloud.names import number_of
from beamline.sandbox.cloud.simulation import Simulation

__all__ = ["Address", "GlobalAddress"]


class Address(ComputeKind):
    """A regional static address."""

    token = "gcp:compute/address:Address"  # noqa: S105 - a type token
    title = "Address"
    collection = "addresses"
    computed: ClassVar[tuple[str, ...]] = (
        "address",
        "addressType",
        "creationTimestamp",
        "project",
        "region",
        "selfLink",
        "users",
    )

    @override
    def outputs(self, record: Record, simulation: Simulation) -> dict[str, Any]:
        internal = record.inputs.get("addressType") == "INTERNAL"
        octets = int(number_of(record.id)) % 250 + 2
        address = record.inputs.get("address") or (f"10.128.15.{octets}" if internal else f"203.0.113.{octets}")
        return super().outputs(record, simulation) | {
            "address": address,
            "addressType": record.inputs.get("addressType", "EXTERNAL"),
            "creationTimestamp": record.created,
            "users": [],
        }


class GlobalAddress(Address):
    """A global static address."""

    token = "gcp:compute/globalAddress:GlobalAddress"  # noqa: S105 - a type token
    title = "GlobalAddress"
    regional = False
    computed: ClassVar[tuple[str, ...]] = (
        "address",
        "addressType",
        "creationTimestamp",
        "project",
        "selfLink",
        "users",
    )
