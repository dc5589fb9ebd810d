"""The VPC of one stack.

Nodes have no public addresses: they reach Google APIs by Private Google Access and everything else (registries, the
model hub) through Cloud NAT. Pods and Services have named secondary ranges, so that the cluster is VPC-native and the
address plan is the stack's and not GKE's. Envoy proxies of the regional Gateway classes live in a subnet of their own;
without it no Gateway is ever programmed.

Deliberately absent: firewall rules. GKE's Gateway controller creates ``gkegw1-l7-...`` itself, from the health
checkers and the proxy-only subnet to all container ports of the backends, and follows every change of them.

VPC-native clusters: https://cloud.google.com/kubernetes-engine/docs/concepts/alias-ips
Proxy-only subnets: https://cloud.google.com/load-balancing/docs/proxy-only-subnets
Rules GKE creates: https://cloud.google.com/kubernetes-engine/docs/concepts/firewall-rules
"""

from typing import TypedDict

import pulumi
from pulumi_gcp import compute

__all__ = ["Network", "NetworkArgs"]

_PODS_RANGE = "pods"
_SERVICES_RANGE = "services"
_MIN_NAT_PORTS_PER_NODE = 256
"""NAT gives a node more ports as it needs them; a start from its default of 32 drops part of the first image pull."""


class NetworkArgs(TypedDict):
    """Address plan of the VPC."""

    prefix: str
    """Start of every resource's name at Google."""
    project: str
    """Google Cloud project id."""
    region: str
    """Region of the subnets, for example us-central1."""
    mtu: int
    """Largest packet in bytes, 1300 to 8896."""
    nodes_cidr: str
    """Range of the nodes."""
    pods_cidr: str
    """Secondary range of the pods; a node takes twice its maximum of pods, rounded up to a power of two."""
    services_cidr: str
    """Secondary range of the Services."""
    proxy_only_cidr: str
    """Range of the Envoy proxies behind regional Gateways, /26 or larger."""


class Network(pulumi.ComponentResource):
    """A VPC with a node subnet, a proxy-only subnet and Cloud NAT."""

    network: pulumi.Output[str]
    """Id of the VPC."""
    subnetwork: pulumi.Output[str]
    """Id of the node subnet."""
    pods_range: pulumi.Output[str]
    """Name of the pods' secondary range."""
    services_range: pulumi.Output[str]
    """Name of the Services' secondary range."""

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("beamline:network:Network", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        prefix, project, region = args["prefix"], args["project"], args["region"]
        vpc = compute.Network(
            f"{name}-vpc",
            name=prefix,
            project=project,
            auto_create_subnetworks=False,
            routing_mode="REGIONAL",
            mtu=args["mtu"],
            opts=child,
        )
        nodes = compute.Subnetwork(
            f"{name}-nodes",
            name=f"{prefix}-nodes",
            project=project,
            region=region,
            network=vpc.id,
            ip_cidr_range=args["nodes_cidr"],
            private_ip_google_access=True,
            secondary_ip_ranges=[
                {"range_name": _PODS_RANGE, "ip_cidr_range": args["pods_cidr"]},
                {"range_name": _SERVICES_RANGE, "ip_cidr_range": args["services_cidr"]},
            ],
            opts=child,
        )
        compute.Subnetwork(
            f"{name}-proxy-only",
            name=f"{prefix}-proxy-only",
            project=project,
            region=region,
            network=vpc.id,
            ip_cidr_range=args["proxy_only_cidr"],
            purpose="REGIONAL_MANAGED_PROXY",
            role="ACTIVE",
            opts=child,
        )
        router = compute.Router(
            f"{name}-router", name=f"{prefix}-router", project=project, region=region, network=vpc.id, opts=child
        )
        compute.RouterNat(
            f"{name}-nat",
            name=f"{prefix}-nat",
            project=project,
            region=region,
            router=router.name,
            nat_ip_allocate_option="AUTO_ONLY",
            source_subnetwork_ip_ranges_to_nat="LIST_OF_SUBNETWORKS",
            subnetworks=[{"name": nodes.id, "source_ip_ranges_to_nats": ["ALL_IP_RANGES"]}],
            enable_dynamic_port_allocation=True,
            min_ports_per_vm=_MIN_NAT_PORTS_PER_NODE,
            log_config={"enable": True, "filter": "ERRORS_ONLY"},
            opts=child,
        )
        self.network = vpc.id
        self.subnetwork = nodes.id
        self.pods_range = pulumi.Output.from_input(_PODS_RANGE)
        self.services_range = pulumi.Output.from_input(_SERVICES_RANGE)
        self.register_outputs(
            {
                "network": self.network,
                "subnetwork": self.subnetwork,
                "podsRange": self.pods_range,
                "servicesRange": self.services_range,
            }
        )
