"""A network with a subnetwork, and an address; the network can be one that exists and the state does not know."""

import pulumi
import pulumi_gcp as gcp

region = "us-central1"
network = gcp.compute.Network(
    "network",
    name="beam",
    auto_create_subnetworks=False,
    opts=pulumi.ResourceOptions(import_=pulumi.Config().get("existing")),
)
gcp.compute.Subnetwork("nodes", name="beam-nodes", region=region, network=network.id, ip_cidr_range="10.0.0.0/22")
gcp.compute.Address("address", name="beam-address", region=region)
