"""A GKE cluster that somebody else made and looks after: looked up, judged, and never changed.

It has the outputs of ``Cluster``, so whatever takes one takes the other. The stack adds node pools to it, under a
service account of its own. What the cluster lacks (``components.cluster_needs``) is a problem in ``preview``: switching
it on is its owner's decision.

The API is reached by the DNS name if the cluster has one that answers from outside, else by its IP address.

Changing clusters: https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-configuration
"""

from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi_gcp import container

from components.cluster_needs import unmet_needs
from components.kubeconfig import kubeconfig
from components.lookups import Wanted, looked_up
from components.node_identity import ArtifactRegistry, node_identity

__all__ = ["ExistingCluster", "ExistingClusterArgs"]


class ExistingClusterArgs(TypedDict):
    """Which cluster, and what it is needed for."""

    prefix: str
    """Start of the nodes' service account's id (at most 24 characters)."""
    project: str
    """Google Cloud project id."""
    region: str
    """Where the control plane runs."""
    cluster: str
    """Name of the cluster."""
    node_version: str
    """Version of the nodes that will be added, x.y.z-gke.n; not newer than the control plane."""
    shielded_nodes: bool
    """Whether all nodes that will be added have a virtual TPM; bare metal has none."""
    mounts_secrets: bool
    """Whether pods mount secrets of Secret Manager (GKE's CSI add-on)."""
    mounts_buckets: bool
    """Whether pods mount buckets by Cloud Storage FUSE (GKE's CSI add-on)."""
    managed_prometheus: bool
    """Whether the collectors of managed Prometheus are needed."""
    scales_pods: bool
    """Whether pods are scaled by gauges that GKE reads from them."""
    image_registry: NotRequired[ArtifactRegistry]
    """Where nodes pull images from, if that needs rights."""


class ExistingCluster(pulumi.ComponentResource):
    """A GKE cluster that is there already, and the service account of the nodes that are added to it."""

    name: pulumi.Output[str]
    """Name of the cluster."""
    kubeconfig: pulumi.Output[str]
    """How clients reach it (secret)."""
    workload_pool: pulumi.Output[str]
    """Pool of its Workload Identities, PROJECT.svc.id.goog."""
    node_service_account: pulumi.Output[str]
    """E-mail of the nodes' service account."""

    def __init__(self, name: str, args: ExistingClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("beamline:cluster:ExistingCluster", name, None, opts)
        account, grants = node_identity(
            self, name, prefix=args["prefix"], project=args["project"], images=args.get("image_registry")
        )
        result = container.get_cluster_output(
            name=args["cluster"],
            location=args["region"],
            project=args["project"],
            opts=pulumi.InvokeOutputOptions(parent=self),
        )
        found = looked_up(
            {"cluster": Wanted("cluster.name", args["cluster"], "a cluster of this name", result)},
            lambda results: unmet_needs(args, results["cluster"]),
        ).apply(lambda results: results["cluster"])
        self.name = found.apply(lambda cluster: str(cluster.name))
        self.workload_pool = found.apply(lambda cluster: str(cluster.workload_identity_configs[0].workload_pool))
        # The pools that use the account come after its rights, which nothing else here waits for.
        self.node_service_account = pulumi.Output.all(account.email, *(grant.urn for grant in grants)).apply(
            lambda known: str(known[0])
        )
        self.kubeconfig = pulumi.Output.secret(found.apply(_kubeconfig))
        self.register_outputs(
            {
                "name": self.name,
                "kubeconfig": self.kubeconfig,
                "workloadPool": self.workload_pool,
                "nodeServiceAccount": self.node_service_account,
            }
        )


def _kubeconfig(cluster: Any) -> str:
    endpoint = _dns_endpoint(cluster) or cluster.endpoint
    authority = cluster.master_auths[0].cluster_ca_certificate
    return kubeconfig(context=cluster.name, endpoint=endpoint, ca_certificate=authority)


def _dns_endpoint(cluster: Any) -> str | None:
    """The control plane's DNS name, where it answers from outside the VPC."""
    for endpoints in cluster.control_plane_endpoints_configs or ():
        for dns in endpoints.dns_endpoint_configs or ():
            if dns.allow_external_traffic:
                return str(dns.endpoint)
    return None
