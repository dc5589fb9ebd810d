"""Whether the address plan fits what is there: a VPC of the stack's name, or the subnet that is to be used."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, ip_network
from typing import Any

from beamline.preflight.checks.applied import Applied, look_applied
from beamline.preflight.findings import Check, Finding, Standing
from beamline.preflight.google import NotFoundError
from beamline.preflight.target import Target
from beamline.preflight.world import World
from stacks.spec import ExistingNetwork, NewNetwork

__all__ = ["NEW_NETWORK", "SUBNETWORK", "Subnet", "Vpc", "judge_new_network", "judge_subnetwork"]


@dataclass(frozen=True)
class Subnet:
    """A subnet and the ranges it holds; ``ranges`` are the secondary ones by name."""

    name: str
    cidr: str
    purpose: str = "PRIVATE"
    ranges: tuple[tuple[str, str], ...] = ()
    google_access: bool = True
    free: tuple[tuple[str, int], ...] = ()
    """Free addresses by range, the primary one under an empty name; left out where Google does not say."""

    @property
    def cidrs(self) -> list[str]:
        """Every range of the subnet."""
        return [self.cidr, *(cidr for _, cidr in self.ranges)]


@dataclass(frozen=True)
class Vpc:
    """A VPC: its subnets in the region, and the ranges that peers bring."""

    exists: bool = True
    subnets: tuple[Subnet, ...] = ()
    peered: tuple[tuple[str, str], ...] = ()
    """Name of the peering, and a range behind it."""


def _subnet(item: Mapping[str, Any]) -> Subnet:
    free = item.get("utilizationDetails", {}).get("ipv4Utilizations", [])
    return Subnet(
        item["name"],
        item.get("ipCidrRange", ""),
        item.get("purpose", "PRIVATE"),
        tuple((row["rangeName"], row["ipCidrRange"]) for row in item.get("secondaryIpRanges", [])),
        bool(item.get("privateIpGoogleAccess")),
        tuple((row.get("rangeName", ""), int(row["totalFreeIp"])) for row in free),
    )


def _look_vpc(target: Target, world: World, name: str) -> Vpc:
    project = target.project
    try:
        found = world.google.call("compute", "networks.get", project=project, network=name)
    except NotFoundError:
        return Vpc(exists=False)
    where = f'network = "{found["selfLink"]}"'
    pages = world.google.pages("compute", "subnetworks.list", project=project, region=target.region, filter=where)
    subnets = tuple(_subnet(item) for page in pages for item in page.get("items", []))
    peerings = [row["name"] for row in found.get("peerings", [])]
    peered = tuple((peering, cidr) for peering in peerings for cidr in _behind(target, world, name, peering))
    return Vpc(subnets=subnets, peered=peered)


def _behind(target: Target, world: World, network: str, peering: str) -> Iterator[str]:
    for page in world.google.pages(
        "compute",
        "networks.listPeeringRoutes",
        project=target.project,
        network=network,
        region=target.region,
        direction="INCOMING",
        peeringName=peering,
    ):
        yield from (route["destRange"] for route in page.get("items", []))


def _look_new(target: Target, world: World) -> Vpc:
    return _look_vpc(target, world, target.spec.prefix)


def _planned(target: Target) -> dict[str, str]:
    plan = target.spec.preset.network
    if not isinstance(plan, NewNetwork):
        return {}
    names = ("nodes_cidr", "pods_cidr", "services_cidr", "proxy_only_cidr")
    return {f"network.{name}": getattr(plan, name) for name in names}


def judge_new_network(target: Target, vpc: Vpc) -> list[Finding]:
    """Tell whether the stack's VPC can be made, or is the stack's already, and what its ranges run into."""
    name, plan = target.spec.prefix, _planned(target)
    asked = f"the ranges of the VPC {name} are free"
    if not vpc.exists:
        return [Finding(asked, "there is no VPC of this name, so nothing is in it", path="network")]
    own = {f"{name}-nodes", f"{name}-proxy-only"}
    if not own & {subnet.name for subnet in vpc.subnets}:
        return [
            Finding.problem(
                "network-taken",
                "network",
                asked,
                found=f"a VPC {name} exists, and it is not this stack's: it lacks the subnet {name}-nodes",
                needed="a name that is free, or the stack's own VPC",
                remedy="give the stack another name, or use that VPC (network.kind: existing)",
            )
        ]
    others = [(f"subnet {subnet.name}", cidr) for subnet in vpc.subnets if subnet.name not in own
              for cidr in subnet.cidrs]  # fmt: skip
    others += [(f"peering {peering}", cidr) for peering, cidr in vpc.peered]
    problems = [
        Finding.problem(
            "range-taken",
            path,
            f"{cidr} is free in the VPC {name}",
            found=f"{what} has {other}",
            needed="a range that overlaps none of the VPC's subnets and peers",
            remedy=f"set {path} to another range",
        )
        for path, cidr in plan.items()
        for what, other in others
        if _overlap(cidr, other)
    ]
    return problems or [Finding(asked, "the VPC is there, with the stack's subnets", path="network")]


def _overlap(one: str, other: str) -> bool:
    left, right = ip_network(one, strict=False), ip_network(other, strict=False)
    return isinstance(left, IPv4Network) and isinstance(right, IPv4Network) and left.overlaps(right)


NEW_NETWORK: Check[Vpc] = Check(
    id="ranges",
    asks="the address ranges are free",
    source="VPC docs, subnets and peering: ranges of a VPC and its peers must not overlap",
    rules=("network-taken", "range-taken"),
    look=_look_new,
    judge=judge_new_network,
    applies=lambda target: isinstance(target.spec.preset.network, NewNetwork),
)


@dataclass(frozen=True)
class Ground:
    """An existing subnet, None when it is not there, and whether its VPC has proxies in the region."""

    subnet: Subnet | None
    proxies: bool = True
    in_network: bool = True
    """Whether the subnet belongs to the VPC that is named."""
    applied: Applied = field(default_factory=Applied)
    """What of the stack is in the subnet already."""


def _existing(target: Target) -> ExistingNetwork:
    plan = target.spec.preset.network
    if not isinstance(plan, ExistingNetwork):
        raise TypeError("the check asks about existing networks only")
    return plan


def _look_existing(target: Target, world: World) -> Ground:
    plan, place = _existing(target), {"project": target.project, "region": target.region}
    try:
        item = world.google.call(
            "compute", "subnetworks.get", **place, subnetwork=plan.subnetwork, views="WITH_UTILIZATION"
        )
    except NotFoundError:
        return Ground(None)
    pages = world.google.pages("compute", "subnetworks.list", **place, filter='purpose = "REGIONAL_MANAGED_PROXY"')
    proxies = [row for page in pages for row in page.get("items", [])]
    ours = f"/networks/{plan.network}"
    has_proxies = any(row["network"].endswith(ours) for row in proxies)
    applied = look_applied(target, world)
    inside = applied.subnetwork == plan.subnetwork
    return Ground(_subnet(item), has_proxies, item["network"].endswith(ours), applied if inside else Applied())


def _pod_addresses(max_pods: int) -> int:
    """Addresses GKE takes for a node's pods: twice their maximum, rounded up to a power of two."""
    return int(2 ** math.ceil(math.log2(2 * max_pods)))


def judge_subnetwork(target: Target, ground: Ground) -> list[Finding]:
    """Tell whether the subnet is there and its ranges hold the stack's nodes and pods."""
    plan, subnet = _existing(target), ground.subnet
    if subnet is None:
        return [
            Finding.problem(
                "subnetwork-missing",
                "network.subnetwork",
                f"the subnet {plan.subnetwork} takes the nodes",
                found=f"there is none of this name in {target.region}",
                needed="a subnet that is there",
                remedy="correct network.subnetwork or region, or let the stack make its own (network.kind: new)",
            )
        ]
    if not ground.in_network:
        return [
            Finding.problem(
                "subnetwork-network",
                "network.subnetwork",
                f"the subnet {plan.subnetwork} is in {plan.network}",
                found="it belongs to another VPC",
                needed=f"a subnet of {plan.network} in {target.region}",
                remedy="name the VPC and a subnet of it",
            )
        ]
    system, most = target.spec.preset.system_pool, target.spec.rows.system.gke.max_pods_per_node
    pools = [(ground.applied.missing(pool), pool.row.gke.max_pods_per_node) for pool in target.spec.pools]
    pools.append((system.nodes - ground.applied.system_nodes, most))
    nodes = sum(max(missing, 0) for missing, _ in pools)
    pods = sum(max(missing, 0) * _pod_addresses(most) for missing, most in pools)
    findings = [
        _range(subnet, "", "network.subnetwork", nodes),
        _range(subnet, plan.pods_range, "network.pods_range", pods),
        _range(subnet, plan.services_range, "network.services_range", 0 if ground.applied.cluster else 1),
    ]
    return [*findings, _google_access(subnet), _proxies(target, ground, plan)]


def _range(subnet: Subnet, name: str, path: str, needed: int) -> Finding:
    what = f"range {name}" if name else "primary range"
    asked = f"the {what} of {subnet.name} has {needed:,} addresses for the stack"
    cidr = subnet.cidr if not name else dict(subnet.ranges).get(name)
    if cidr is None:
        return Finding.problem(
            "secondary-range-missing",
            path,
            asked,
            found="the subnet has no such range",
            needed=f"one of: {', '.join(sorted(dict(subnet.ranges))) or 'it has none'}",
            remedy="name a range of the subnet, or add it",
        )
    told = name in dict(subnet.free)
    free = dict(subnet.free).get(name, ip_network(cidr, strict=False).num_addresses)
    found = f"{cidr}, {free:,} free" if told else f"{cidr}, {free:,} in all; how many are free is not told"
    if free >= needed > 0 and not told:
        return Finding(asked, found, f"{needed:,}", path, Standing.UNKNOWN,
                       remedy="look at the subnet's allocated addresses in the console")  # fmt: skip
    if free >= needed:
        return Finding(asked, found, f"{needed:,}", path=path)
    return Finding.problem(
        "range-too-small",
        path,
        asked,
        found=found,
        needed=f"{needed:,} free addresses",
        remedy="add a larger range to the subnet and name it, or use fewer nodes",
    )


def _google_access(subnet: Subnet) -> Finding:
    asked = f"nodes of {subnet.name} reach Google's APIs without public addresses"
    if subnet.google_access:
        return Finding(asked, "Private Google Access is on", path="network.subnetwork")
    return Finding.problem(
        "no-private-google-access",
        "network.subnetwork",
        asked,
        found="Private Google Access is off",
        needed="on, as nodes have no public addresses",
        remedy=f"gcloud compute networks subnets update {subnet.name} --enable-private-ip-google-access",
    )


def _proxies(target: Target, ground: Ground, plan: ExistingNetwork) -> Finding:
    asked = f"{plan.network} has a proxy-only subnet in {target.region}"
    if ground.proxies:
        return Finding(asked, "it has", path="network.network")
    return Finding.problem(
        "proxy-only-subnet-missing",
        "network.network",
        asked,
        found="it has none, so no Gateway would ever be programmed",
        needed="a subnet of purpose REGIONAL_MANAGED_PROXY, /26 or larger",
        remedy="gcloud compute networks subnets create NAME --purpose REGIONAL_MANAGED_PROXY --role ACTIVE "
        f"--network {plan.network} --region {target.region} --range RANGE",
    )


SUBNETWORK: Check[Ground] = Check(
    id="subnetwork",
    asks="the existing subnet takes the nodes",
    source="GKE docs, VPC-native clusters; load balancing docs, proxy-only subnets",
    rules=(
        "subnetwork-missing",
        "subnetwork-network",
        "secondary-range-missing",
        "range-too-small",
        "no-private-google-access",
        "proxy-only-subnet-missing",
    ),
    look=_look_existing,
    judge=judge_subnetwork,
    applies=lambda target: isinstance(target.spec.preset.network, ExistingNetwork),
)
