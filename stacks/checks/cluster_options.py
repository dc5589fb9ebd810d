"""Choices about a new cluster: what GKE refuses, and what would shut everybody out, or let everybody in."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network

from stacks.checks.candidate import Candidate
from stacks.problems import Problem
from stacks.spec import NewCluster

__all__ = ["CHECKS"]

_WINDOW_HOURS = 48
_WEEKS = 4
"""Whole weeks in the 32 days that GKE looks at."""
_LONGEST_NO_UPGRADES_DAYS = 30
_MAINTENANCE_DOCS = "GKE docs, maintenance windows and exclusions: limits"
_ACCESS_DOCS = "GKE docs, network isolation of the control plane"


def _cluster(c: Candidate) -> NewCluster | None:
    return c.preset.cluster if isinstance(c.preset.cluster, NewCluster) else None


def maintenance_window(c: Candidate) -> Iterator[Problem]:
    """GKE insists on a minimum of time for itself."""
    cluster = _cluster(c)
    if cluster is None:
        return
    plan = cluster.maintenance
    hours = plan.hours * len(set(plan.days)) * _WEEKS
    if hours < _WINDOW_HOURS:
        yield Problem(
            rule="maintenance-window",
            path="cluster.maintenance",
            value=f"{plan.hours} h on {', '.join(plan.days)}",
            why=f"that is {hours} hours in four weeks; GKE refuses less than {_WINDOW_HOURS} in 32 days",
            allowed=f"at least {_WINDOW_HOURS // _WEEKS} hours a week",
            remedy="add a day, or hours",
            source=_MAINTENANCE_DOCS,
        )


def maintenance_exclusions(c: Candidate) -> Iterator[Problem]:
    """An exclusion ends, and one of everything ends soon."""
    cluster = _cluster(c)
    for name, exclusion in (cluster.maintenance.exclusions if cluster else {}).items():
        why = ""
        if exclusion.end is not None and exclusion.end <= exclusion.start:
            why = "it ends before it starts"
        elif exclusion.scope == "NO_UPGRADES":
            days = (exclusion.end - exclusion.start).days if exclusion.end else None
            if days is None or days > _LONGEST_NO_UPGRADES_DAYS:
                lasts = "until the end of support" if days is None else f"{days} days"
                why = (
                    f"it lasts {lasts}, and NO_UPGRADES keeps security patches away, for which GKE allows "
                    f"{_LONGEST_NO_UPGRADES_DAYS} days"
                )
        if why:
            yield Problem(
                rule="maintenance-exclusion",
                path=f"cluster.maintenance.exclusions.{name}",
                value=exclusion.scope,
                why=why,
                allowed=f"an end after the start; NO_UPGRADES: at most {_LONGEST_NO_UPGRADES_DAYS} days",
                remedy="change start or end, or use NO_MINOR_OR_NODE_UPGRADES",
                source=_MAINTENANCE_DOCS,
            )


def control_plane(c: Candidate) -> Iterator[Problem]:
    """Somebody reaches the API, and not everybody."""
    cluster = _cluster(c)
    if cluster is None:
        return
    plan, path = cluster.control_plane, "cluster.control_plane"
    if plan.ip_endpoint is None:
        if not plan.dns_endpoint:
            yield Problem(
                rule="control-plane-unreachable",
                path=f"{path}.dns_endpoint",
                value=False,
                why="the control plane would have neither a DNS name nor an IP address: nobody could apply anything",
                allowed="true, or an ip_endpoint",
                remedy="leave the key out, or name ip_endpoint.authorized_networks",
                source=_ACCESS_DOCS,
            )
        return
    yield from _authorized(plan.ip_endpoint.authorized_networks, public=plan.ip_endpoint.public)
    if not (plan.dns_endpoint or plan.ip_endpoint.public):
        yield Problem(
            rule="control-plane-inside",
            path=f"{path}.ip_endpoint.public",
            value=False,
            why="the control plane is reached from inside the VPC alone: the machine that runs pulumi has to be there",
            allowed="any value, where that is so; dns_endpoint needs no VPN",
            remedy="run pulumi in the VPC, or set dns_endpoint to true",
            source=_ACCESS_DOCS,
            severity="warning",
        )


def _authorized(blocks: list[str], *, public: bool) -> Iterator[Problem]:
    path = "cluster.control_plane.ip_endpoint.authorized_networks"
    for block in blocks:
        try:
            network = ip_network(block)
        except ValueError:
            yield Problem(
                rule="cidr",
                path=path,
                value=block,
                why="this is not a network in CIDR form (host bits set, or an octet above 255)",
                allowed="such as 203.0.113.0/24",
                remedy="write the network address with its prefix length",
                source="RFC 4632",
            )
            continue
        if public and network.prefixlen == 0:
            yield Problem(
                rule="control-plane-open",
                path=path,
                value=block,
                why="the control plane's public address would answer the whole internet",
                allowed="the networks that have to reach it",
                remedy="write those networks; dns_endpoint needs none, as IAM decides there",
                source=_ACCESS_DOCS,
            )


def encryption_key(c: Candidate) -> Iterator[Problem]:
    """GKE takes keys of the cluster's own region."""
    cluster, region = _cluster(c), c.settings.get("region")
    if cluster is None or cluster.encryption_key is None or region is None:
        return
    location = cluster.encryption_key.split("/")[3]
    if location != region:
        yield Problem(
            rule="encryption-key-region",
            path="cluster.encryption_key",
            value=cluster.encryption_key,
            why=f"the key is in {location} and the cluster in {region}: GKE refuses keys of another place",
            allowed=f"a key in {region}",
            remedy=f"gcloud kms keys create in a key ring of {region}, and name that key",
            source="GKE docs, encrypting secrets at the application layer: key location",
        )


def binary_authorization(c: Candidate) -> Iterator[Problem]:
    """Only the project knows its policy."""
    cluster = _cluster(c)
    if cluster is None or not cluster.binary_authorization:
        return
    registries = sorted({image.name.partition("/")[0] for image in c.images.values()})
    yield Problem(
        rule="binary-authorization-policy",
        path="cluster.binary_authorization",
        value=True,
        why=f"the project's policy decides about every image, and only the project knows it; the stack's are in "
        f"{', '.join(registries)}: what it does not admit never starts",
        allowed="a policy that admits those registries, and those of the operators' charts",
        remedy="gcloud container binauthz policy export, and look",
        source="Binary Authorization docs, project singleton policy",
        severity="warning",
    )


CHECKS = (
    maintenance_window,
    maintenance_exclusions,
    control_plane,
    encryption_key,
    binary_authorization,
)
