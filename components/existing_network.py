"""A VPC that somebody else made and looks after: looked up, judged, and never changed.

It has the outputs of ``Network``, so whatever takes one takes the other. Its owner sees to what cannot be looked up
here: Cloud NAT for nodes without public addresses, and a proxy-only subnet for regional Gateways.

VPC-native clusters: https://cloud.google.com/kubernetes-engine/docs/concepts/alias-ips
"""

from collections.abc import Mapping
from typing import Any, TypedDict

import pulumi
from pulumi_gcp import compute

from components.lookups import Wanted, looked_up
from stacks.problems import Problem

__all__ = ["ExistingNetwork", "ExistingNetworkArgs"]


class ExistingNetworkArgs(TypedDict):
    """Names of a VPC, a subnet and its ranges."""

    project: str
    """Google Cloud project id."""
    region: str
    """Region of the subnet, for example us-central1."""
    network: str
    """Name of the VPC."""
    subnetwork: str
    """Name of the node subnet."""
    pods_range: str
    """Name of the subnet's secondary range for pods."""
    services_range: str
    """Name of the subnet's secondary range for Services."""


class ExistingNetwork(pulumi.ComponentResource):
    """A VPC and a subnet that are there already."""

    network: pulumi.Output[str]
    """Id of the VPC."""
    subnetwork: pulumi.Output[str]
    """Id of the node subnet."""
    pods_range: pulumi.Output[str]
    """Name of the pods' secondary range."""
    services_range: pulumi.Output[str]
    """Name of the Services' secondary range."""

    def __init__(self, name: str, args: ExistingNetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("beamline:network:ExistingNetwork", name, None, opts)
        project, here = args["project"], pulumi.InvokeOutputOptions(parent=self)
        vpc = compute.get_network_output(name=args["network"], project=project, opts=here)
        subnet = compute.get_subnetwork_output(
            name=args["subnetwork"], project=project, region=args["region"], opts=here
        )
        found = looked_up(
            {
                "network": Wanted("network.network", args["network"], "a VPC of this name", vpc),
                "subnetwork": Wanted("network.subnetwork", args["subnetwork"], "a subnet of this name", subnet),
            },
            lambda results: _problems(args, results),
        )
        self.network = found.apply(lambda results: str(results["network"].id))
        self.subnetwork = found.apply(lambda results: str(results["subnetwork"].id))
        self.pods_range = pulumi.Output.from_input(args["pods_range"])
        self.services_range = pulumi.Output.from_input(args["services_range"])
        self.register_outputs(
            {
                "network": self.network,
                "subnetwork": self.subnetwork,
                "podsRange": self.pods_range,
                "servicesRange": self.services_range,
            }
        )


def _problems(args: ExistingNetworkArgs, found: Mapping[str, Any]) -> list[Problem]:
    vpc, subnet = found["network"], found["subnetwork"]
    problems = []
    if not subnet.network.endswith(f"/{vpc.name}"):
        problems.append(
            Problem(
                rule="subnetwork-network",
                path="network.subnetwork",
                value=args["subnetwork"],
                why=f"the subnet belongs to {subnet.network}, not to the VPC {args['network']}",
                allowed=f"a subnet of {args['network']} in {args['region']}",
                remedy="name the VPC and a subnet of it",
                source="Google Cloud, asked now",
            )
        )
    ranges = sorted(item.range_name for item in subnet.secondary_ip_ranges or ())
    problems += [
        Problem(
            rule="secondary-range",
            path=f"network.{key}",
            value=name,
            why=f"the subnet {args['subnetwork']} has no secondary range of this name",
            allowed=", ".join(ranges) or "the subnet has no secondary ranges",
            remedy="name one of them, or add the range to the subnet",
            source="Google Cloud, asked now",
        )
        for key, name in (("pods_range", args["pods_range"]), ("services_range", args["services_range"]))
        if name not in ranges
    ]
    return problems
