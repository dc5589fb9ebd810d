"""VPC networks and subnetworks."""

import ipaddress
from collections.abc import Iterator
from typing import Any

from typing_extensions import override

from beamline.sandbox.cloud.errors import bad_request, in_use
from beamline.sandbox.cloud.kinds.base import Identity, Inputs
from beamline.sandbox.cloud.kinds.compute import (
    CLUSTER,
    FIREWALL,
    FORWARDING_RULE,
    NETWORK,
    ROUTER,
    SUBNETWORK,
    ComputeKind,
    cidr_problem,
    existing_network,
    network_of,
)
from beamline.sandbox.cloud.ledger import Record
from beamline.sandbox.cloud.names import name_problem, number_of, reference, self_link
from beamline.sandbox.cloud.schema import Failure
from beamline.sandbox.cloud.simulation import Simulation

__all__ = ["Network", "Subnetwork"]

_PROXY_PURPOSES = {"REGIONAL_MANAGED_PROXY", "GLOBAL_MANAGED_PROXY", "INTERNAL_HTTPS_LOAD_BALANCER"}
_PURPOSES = {"PRIVATE", "PRIVATE_SERVICE_CONNECT", "PRIVATE_NAT", *_PROXY_PURPOSES}


class Network(ComputeKind):
    """A VPC network."""

    token = NETWORK
    title = "Network"
    collection = "networks"
    regional = False
    create_s, delete_s = 20, 30
    computed = (
        "autoCreateSubnetworks", "deleteDefaultRoutesOnCreate", "gatewayIpv4", "mtu",
        "networkFirewallPolicyEnforcementOrder", "networkId", "numericId", "project", "routingMode", "selfLink",
    )  # fmt: skip

    @override
    def problems(self, inputs: Inputs, simulation: Simulation) -> Iterator[Failure]:
        yield from super().problems(inputs, simulation)
        mtu = inputs.get("mtu")
        if mtu is not None and not 1300 <= mtu <= 8896:  # noqa: PLR2004 - Compute's own limits
            yield Failure("mtu", f"expected mtu to be in the range (1300 - 8896), got {mtu}")
        if inputs.get("routingMode", "REGIONAL") not in ("REGIONAL", "GLOBAL"):
            yield Failure("routingMode", f"expected one of [REGIONAL GLOBAL], got {inputs['routingMode']}")

    @override
    def outputs(self, record: Record, simulation: Simulation) -> dict[str, Any]:
        number = number_of(record.id + record.created)
        return super().outputs(record, simulation) | {
            "autoCreateSubnetworks": record.inputs.get("autoCreateSubnetworks", True),
            "deleteDefaultRoutesOnCreate": record.inputs.get("deleteDefaultRoutesOnCreate", False),
            "gatewayIpv4": "",
            "mtu": record.inputs.get("mtu", 1460),
            "networkFirewallPolicyEnforcementOrder": "AFTER_CLASSIC_FIREWALL",
            "networkId": number,
            "numericId": number,
            "routingMode": record.inputs.get("routingMode", "REGIONAL"),
        }

    @override
    def before_delete(self, record: Record, simulation: Simulation) -> None:
        users = [
            other.id
            for kind in (FIREWALL, ROUTER, SUBNETWORK, CLUSTER, FORWARDING_RULE)
            for other in simulation.ledger.of_type(kind)
            if network_of(other) == record.id
        ]
        if users:
            raise in_use("network", record.id, users)


class Subnetwork(ComputeKind):
    """A subnetwork and its secondary ranges."""

    token = SUBNETWORK
    title = "Subnetwork"
    collection = "subnetworks"
    create_s, delete_s = 20, 20
    computed = (
        "creationTimestamp", "gatewayAddress", "privateIpGoogleAccess", "project", "purpose", "region",
        "secondaryIpRanges", "selfLink", "stackType", "subnetworkId",
    )  # fmt: skip

    @override
    def problems(self, inputs: Inputs, simulation: Simulation) -> Iterator[Failure]:
        yield from super().problems(inputs, simulation)
        if "ipCidrRange" not in inputs and not inputs.get("reservedInternalRange"):
            yield Failure("ipCidrRange", "one of ipCidrRange, reservedInternalRange is required")
        found = list(_ranges(inputs))
        for path, text in found:
            if reason := cidr_problem(text):
                yield Failure(path, f"Invalid value for field 'resource.{path}': '{text}'. {reason}")
                return
        for index, (path, text) in enumerate(found):
            for _, other in found[:index]:
                if ipaddress.ip_network(text).overlaps(ipaddress.ip_network(other)):
                    yield Failure(path, f"Invalid IPCidrRange: {text} conflicts with {other} of the same subnetwork")
        names = [entry["rangeName"] for entry in inputs.get("secondaryIpRanges") or [] if "rangeName" in entry]
        for index, name in enumerate(names):
            if reason := name_problem(name):
                yield Failure(f"secondaryIpRanges[{index}].rangeName", reason)
            if name in names[:index]:
                yield Failure(f"secondaryIpRanges[{index}].rangeName", f"the range name {name!r} is used twice")
        yield from self._purpose(inputs)

    def _purpose(self, inputs: Inputs) -> Iterator[Failure]:
        purpose = inputs.get("purpose", "PRIVATE")
        if purpose not in _PURPOSES:
            yield Failure("purpose", f"expected one of {sorted(_PURPOSES)}, got {purpose}")
        if purpose in _PROXY_PURPOSES:
            if inputs.get("role") not in ("ACTIVE", "BACKUP"):
                yield Failure("role", f"a subnetwork of purpose {purpose} needs role ACTIVE or BACKUP")
            if inputs.get("secondaryIpRanges"):
                yield Failure("secondaryIpRanges", f"a subnetwork of purpose {purpose} has no secondary ranges")
            text = inputs.get("ipCidrRange", "")
            if text and not cidr_problem(text) and ipaddress.ip_network(text).prefixlen > 26:  # noqa: PLR2004
                yield Failure("ipCidrRange", f"a proxy-only subnetwork needs at least a /26, got {text}")
        elif inputs.get("role"):
            yield Failure("role", f"role is for proxy-only subnetworks, not for purpose {purpose}")

    @override
    def before_create(self, identity: Identity, inputs: Inputs, simulation: Simulation) -> None:
        network = existing_network(inputs, identity.project, simulation)
        if network.outputs.get("autoCreateSubnetworks"):
            raise bad_request(f"Cannot create a subnetwork in the auto mode network '{network.id}'", "invalid")
        self._refuse_overlap(identity, inputs, network, simulation)
        if inputs.get("purpose") in _PROXY_PURPOSES and inputs.get("role") == "ACTIVE":
            for other in _subnetworks(network, simulation):
                same = other.location == identity.location and other.inputs.get("purpose") == inputs["purpose"]
                if same and other.inputs.get("role") == "ACTIVE":
                    raise bad_request(
                        f"An active subnetwork with purpose {inputs['purpose']} already exists in region "
                        f"'{identity.location}' of the network: '{other.id}'",
                        "invalid",
                    )

    @override
    def before_update(self, record: Record, inputs: Inputs, simulation: Simulation) -> None:
        network = existing_network(inputs, record.project, simulation)
        self._refuse_overlap(
            Identity(record.id, record.project, record.location, record.name), inputs, network, simulation
        )
        old, new = record.inputs.get("ipCidrRange"), inputs.get("ipCidrRange")
        if old and new and not _contains(new, old):
            raise bad_request(f"The new range {new} must contain the old range {old}: a range can only grow", "invalid")
        kept = {entry.get("rangeName") for entry in inputs.get("secondaryIpRanges") or []}
        for cluster in simulation.ledger.of_type(CLUSTER):
            policy = cluster.inputs.get("ipAllocationPolicy") or {}
            used = {policy.get("clusterSecondaryRangeName", ""), policy.get("servicesSecondaryRangeName", "")} - {""}
            if (
                reference(cluster.inputs.get("subnetwork", ""), "subnetworks", record.project, record.location)
                == record.id
            ):
                gone = sorted(used - kept)
                if gone:
                    raise in_use("subnetwork secondary range", f"{record.id}/{gone[0]}", [cluster.id])

    def _refuse_overlap(self, identity: Identity, inputs: Inputs, network: Record, simulation: Simulation) -> None:
        for _, text in _ranges(inputs):
            for other in _subnetworks(network, simulation):
                for _, taken in _ranges(other.inputs):
                    if other.id != identity.id and ipaddress.ip_network(text).overlaps(ipaddress.ip_network(taken)):
                        raise bad_request(
                            f"Invalid IPCidrRange: {text} conflicts with existing subnetwork '{other.name}' "
                            f"in region '{other.location}'.",
                            "invalid",
                        )

    @override
    def outputs(self, record: Record, simulation: Simulation) -> dict[str, Any]:
        primary = ipaddress.ip_network(record.inputs["ipCidrRange"])
        return super().outputs(record, simulation) | {
            "network": self_link(reference(record.inputs["network"], "networks", record.project)),
            "creationTimestamp": record.created,
            "gatewayAddress": str(primary[1]),
            "privateIpGoogleAccess": record.inputs.get("privateIpGoogleAccess", False),
            "purpose": record.inputs.get("purpose", "PRIVATE"),
            "secondaryIpRanges": record.inputs.get("secondaryIpRanges", []),
            "stackType": record.inputs.get("stackType", "IPV4_ONLY"),
            "subnetworkId": number_of(record.id + record.created),
        }

    @override
    def before_delete(self, record: Record, simulation: Simulation) -> None:
        users = [
            cluster.id
            for cluster in simulation.ledger.of_type(CLUSTER)
            if reference(cluster.inputs.get("subnetwork", ""), "subnetworks", record.project, record.location)
            == record.id
        ]
        if record.inputs.get("purpose") in _PROXY_PURPOSES:
            users += [
                rule.id
                for rule in simulation.ledger.of_type(FORWARDING_RULE)
                if rule.inputs.get("proxyOnlySubnetwork") == record.id
            ]
        if users:
            raise in_use("subnetwork", record.id, users)


def _ranges(inputs: Inputs) -> Iterator[tuple[str, str]]:
    if "ipCidrRange" in inputs:
        yield "ipCidrRange", inputs["ipCidrRange"]
    for index, entry in enumerate(inputs.get("secondaryIpRanges") or []):
        if "ipCidrRange" in entry:
            yield f"secondaryIpRanges[{index}].ipCidrRange", entry["ipCidrRange"]


def _subnetworks(network: Record, simulation: Simulation) -> list[Record]:
    return [record for record in simulation.ledger.of_type(SUBNETWORK) if network_of(record) == network.id]


def _contains(outer: str, inner: str) -> bool:
    big, small = ipaddress.ip_network(outer), ipaddress.ip_network(inner)
    return big.version == small.version and small[0] in big and small[-1] in big
