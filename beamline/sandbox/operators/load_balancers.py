"""The load balancers behind Gateways, as entries in the simulated cloud's ledger.

A real Gateway holds forwarding rules in the VPC: the network cannot be deleted while they exist, and a cluster that is
deleted with Gateways in it leaves them behind. The entries make the simulated network behave the same way.
"""

from dataclasses import dataclass

from beamline.sandbox.cloud.kinds.compute import CLUSTER, FORWARDING_RULE, SUBNETWORK, network_of
from beamline.sandbox.cloud.ledger import AlreadyInLedgerError, Ledger, Record
from beamline.sandbox.cloud.machines import region_of
from beamline.sandbox.cloud.names import hashed, number_of, reference

__all__ = ["CloudView", "LoadBalancer"]

_ADDRESS = {True: "gcp:compute/address:Address", False: "gcp:compute/globalAddress:GlobalAddress"}


@dataclass(frozen=True)
class LoadBalancer:
    """What a Gateway asks of the cloud."""

    namespace: str
    gateway: str
    uid: str
    regional: bool
    internal: bool
    named_address: str = ""


class CloudView:
    """What the controllers see of the simulated cloud."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def revision(self) -> int:
        """Return a number that has risen since the last change of the cloud."""
        return self._ledger.revision()

    def refusal(self, wanted: LoadBalancer) -> str:
        """Say why the cloud would not make the load balancer; empty when it would."""
        cluster = self._cluster()
        if cluster is None:
            return "the cluster is not there yet"
        if wanted.regional and self._proxy_only(cluster) is None:
            return (
                "error cause: gceSync: generic::invalid_argument: Invalid value for field 'resource.target': An active "
                "proxy-only subnetwork is required in the same region and VPC as the forwarding rule."
            )
        if wanted.named_address and self._address(cluster, wanted) is None:
            return f'NamedAddress "{wanted.named_address}" was not found'
        return ""

    def ensure(self, wanted: LoadBalancer) -> str:
        """Enter the load balancer and return its address. The addresses are from ranges that reach nobody."""
        cluster = self._cluster()
        if cluster is None:
            return ""
        record = self._record(cluster, wanted)
        try:
            self._ledger.add(record)
        except AlreadyInLedgerError:
            found = self._ledger.find(FORWARDING_RULE, record.id)
            record = found or record
        return str(record.outputs["ipAddress"])

    def release(self, uid: str) -> None:
        """Take away the load balancer of a Gateway."""
        for record in self._ledger.of_type(FORWARDING_RULE):
            if record.inputs["gateway"] == uid:
                self._ledger.remove(FORWARDING_RULE, record.id)

    def _cluster(self) -> Record | None:
        return next(iter(self._ledger.of_type(CLUSTER)), None)

    def _proxy_only(self, cluster: Record) -> Record | None:
        network, region = network_of(cluster), region_of(cluster.location)
        for subnetwork in self._ledger.of_type(SUBNETWORK):
            inputs = subnetwork.inputs
            right = inputs.get("purpose") == "REGIONAL_MANAGED_PROXY" and inputs.get("role") == "ACTIVE"
            if right and subnetwork.location == region and network_of(subnetwork) == network:
                return subnetwork
        return None

    def _address(self, cluster: Record, wanted: LoadBalancer) -> Record | None:
        region = (region_of(cluster.location) or "") if wanted.regional else ""
        path = reference(wanted.named_address, "addresses", cluster.project, region)
        return self._ledger.find(_ADDRESS[wanted.regional], path)

    def _record(self, cluster: Record, wanted: LoadBalancer) -> Record:
        region = region_of(cluster.location) or ""
        location = region if wanted.regional else "global"
        scope = f"regions/{region}" if wanted.regional else "global"
        name = f"gkegw1-{hashed(cluster.id, 4)}-{wanted.namespace}-{wanted.gateway}-{hashed(wanted.uid, 12)}"
        reserved = self._address(cluster, wanted) if wanted.named_address else None
        octet = int(number_of(wanted.uid)) % 250 + 2
        made_up = f"10.128.14.{octet}" if wanted.internal else f"198.51.100.{octet}"
        proxy = self._proxy_only(cluster) if wanted.regional else None
        return Record(
            type=FORWARDING_RULE,
            id=f"projects/{cluster.project}/{scope}/forwardingRules/{name}",
            project=cluster.project,
            location=location,
            name=name,
            inputs={
                "gateway": wanted.uid,
                "network": network_of(cluster),
                "proxyOnlySubnetwork": proxy.id if proxy else "",
            },
            outputs={"ipAddress": reserved.outputs["address"] if reserved else made_up},
        )
