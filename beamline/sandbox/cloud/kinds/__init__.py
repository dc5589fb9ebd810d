"""The resource types that the simulated cloud knows, one class each."""

from beamline.sandbox.cloud.kinds.addresses import Address, GlobalAddress
from beamline.sandbox.cloud.kinds.base import Identity, Kind
from beamline.sandbox.cloud.kinds.buckets import Bucket
from beamline.sandbox.cloud.kinds.clusters import Cluster
from beamline.sandbox.cloud.kinds.firewalls import Firewall
from beamline.sandbox.cloud.kinds.identities import (
    Account,
    BucketMember,
    ProjectMember,
    RepositoryMember,
    SecretMember,
    ServiceAccountMember,
)
from beamline.sandbox.cloud.kinds.keys import KeyMember
from beamline.sandbox.cloud.kinds.networks import Network, Subnetwork
from beamline.sandbox.cloud.kinds.node_pools import NodePool
from beamline.sandbox.cloud.kinds.resource_policies import ResourcePolicy
from beamline.sandbox.cloud.kinds.routers import Router, RouterNat

__all__ = ["KINDS", "Identity", "Kind"]

KINDS: dict[str, Kind] = {
    kind.token: kind
    for kind in (
        Account(),
        Address(),
        Bucket(),
        BucketMember(),
        Cluster(),
        Firewall(),
        GlobalAddress(),
        KeyMember(),
        Network(),
        NodePool(),
        ProjectMember(),
        RepositoryMember(),
        ResourcePolicy(),
        Router(),
        RouterNat(),
        SecretMember(),
        ServiceAccountMember(),
        Subnetwork(),
    )
}
"""By Pulumi type token. A type that is not here is refused by name."""
