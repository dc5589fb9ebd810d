"""The small node pool for everything that needs no accelerator: the router, GKE's own pods, operators.

It exists before any accelerator pool: GKE taints GPU nodes by itself only when the cluster also has other nodes, and
its system pods need a place that does not cost a GPU. It stands in the accelerators' zone: a request crosses both.

Node pools: https://cloud.google.com/kubernetes-engine/docs/concepts/node-pools
"""

from typing import NotRequired, TypedDict

import pulumi
from pulumi_gcp import container

from components.node_config import node_config

__all__ = ["SystemNodePool", "SystemNodePoolArgs"]


class SystemNodePoolArgs(TypedDict):
    """A fixed number of nodes of one general-purpose machine type."""

    prefix: str
    """Start of the pool's name."""
    project: str
    """Google Cloud project id."""
    region: str
    """Where the cluster's control plane runs."""
    zone: str
    """The one zone of the nodes."""
    cluster: pulumi.Input[str]
    """Name of the cluster."""
    service_account: pulumi.Input[str]
    """E-mail of the nodes' service account."""
    version: str
    """Exact version of the nodes, x.y.z-gke.n."""
    machine_type: str
    """For example n4-standard-8."""
    nodes: int
    """Number of nodes."""
    boot_disk_type: str
    """A disk type the machine type can boot from."""
    boot_disk_gb: int
    """Size of the boot disk in GB; images and logs live on it."""
    max_pods_per_node: int
    """Decides how many pod addresses a node takes."""
    encryption_key: NotRequired[str]
    """Key of Cloud KMS for boot disks, in the pool's region; left out, Google's own."""
    protected: bool
    """Refuse to delete or replace the pool."""


class SystemNodePool(pulumi.ComponentResource):
    """One node pool without accelerators."""

    name: pulumi.Output[str]
    """Name of the pool."""

    def __init__(self, name: str, args: SystemNodePoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("beamline:cluster:SystemNodePool", name, None, opts)
        pool = container.NodePool(
            f"{name}-pool",
            name=f"{args['prefix']}-system",
            project=args["project"],
            location=args["region"],
            node_locations=[args["zone"]],
            cluster=args["cluster"],
            version=args["version"],
            node_count=args["nodes"],
            max_pods_per_node=args["max_pods_per_node"],
            management={"auto_repair": True, "auto_upgrade": True},
            upgrade_settings={"strategy": "SURGE", "max_surge": 1, "max_unavailable": 0},
            network_config={"enable_private_nodes": True},
            node_config={
                **node_config(args["service_account"], encryption_key=args.get("encryption_key")),
                "machine_type": args["machine_type"],
                "disk_type": args["boot_disk_type"],
                "disk_size_gb": args["boot_disk_gb"],
            },
            opts=pulumi.ResourceOptions(
                parent=self,
                protect=args["protected"] or None,
                delete_before_replace=True,  # the name can be taken only once
                ignore_changes=["initialNodeCount", "nodeConfig.resourceLabels"],  # GKE fills them in
                custom_timeouts=pulumi.CustomTimeouts(create="30m", update="60m", delete="60m"),
            ),
        )
        self.name = pool.name
        self.register_outputs({"name": self.name})
