"""The GKE cluster and the identity of its nodes.

Decisions, and why:

- Regional control plane; nodes in one zone, where the accelerators are.
- Nodes are private. Unless asked for, the control plane has no IP endpoint at all: it is reached by its DNS name, where
  Google checks IAM (``container.clusters.connect``) before a request gets to Kubernetes. A laptop needs neither VPN nor
  allow-list. How it is reached otherwise, when it is maintained and under which key: ``components.cluster_options``.
- Dataplane V2: it enforces NetworkPolicy, and accelerator networks need it; it cannot be turned on afterwards.
- Shielded nodes unless the machines cannot: the switch holds for the whole cluster, so that bare metal and virtual
  machines that should stay shielded want two clusters.
- Exact version, and no minor or node upgrade until that version's end of support: a GPU node is not replaced behind the
  operator's back. The control plane still gets its patches, on weekends.
- Gateway API, managed Prometheus and GPU metrics (DCGM) are GKE's own; nothing of them is installed by hand. What is
  not wanted is written as off: GKE's default is on.
- Node pools are resources of their own. GKE insists on a first pool: it lives for minutes, in one zone, with few pods
  (its block of pod addresses is small) and under the stack's service account.

Standard clusters: https://cloud.google.com/kubernetes-engine/docs/how-to/creating-a-regional-cluster
Maintenance: https://cloud.google.com/kubernetes-engine/docs/concepts/maintenance-windows-and-exclusions
"""

from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi_gcp import container

from components.cluster_options import ControlPlane, Maintenance, access, key_rights, maintenance_policy
from components.kubeconfig import kubeconfig
from components.node_config import node_config
from components.node_identity import ArtifactRegistry, node_identity

__all__ = ["Cluster", "ClusterArgs"]

_PODS_ON_TEMPORARY_NODE = 32
_METRICS = ("SYSTEM_COMPONENTS", "POD", "DAEMONSET", "DEPLOYMENT")
_TIMEOUTS = pulumi.CustomTimeouts(create="60m", update="90m", delete="60m")
"""A regional cluster takes about ten minutes; an upgrade of its control plane three times as long."""


class ClusterArgs(TypedDict):
    """One cluster in one VPC."""

    prefix: str
    """Name of the cluster, and start of its service account's id (at most 24 characters)."""
    project: str
    """Google Cloud project id."""
    region: str
    """Where the control plane runs."""
    zone: str
    """The one zone of the nodes."""
    network: pulumi.Input[str]
    """Id of the VPC."""
    subnetwork: pulumi.Input[str]
    """Id of the node subnet."""
    pods_range: pulumi.Input[str]
    """Name of the pods' secondary range."""
    services_range: pulumi.Input[str]
    """Name of the Services' secondary range."""
    release_channel: str
    """RAPID, REGULAR, STABLE or EXTENDED."""
    version: str
    """Exact version of the control plane at creation, x.y.z-gke.n."""
    maintenance: Maintenance
    """When GKE may upgrade the cluster, and what it must leave alone."""
    control_plane: ControlPlane
    """How the Kubernetes API is reached."""
    binary_authorization: bool
    """Whether the project's policy of Binary Authorization decides which images may start."""
    encryption_key: NotRequired[str]
    """Key of Cloud KMS for the secrets in etcd and for boot disks; left out, Google's own keys."""
    mounts_secrets: bool
    """Whether pods mount secrets of Secret Manager (GKE's CSI add-on)."""
    mounts_buckets: bool
    """Whether pods mount buckets by Cloud Storage FUSE (GKE's CSI add-on)."""
    shielded_nodes: bool
    """Whether nodes prove their identity by a virtual TPM; for the whole cluster, and bare metal has none."""
    gpu_metrics: bool
    """Whether GKE's own DCGM exporter runs on GPU nodes."""
    managed_prometheus: bool
    """Whether GKE runs the collectors of managed Prometheus."""
    scales_pods: bool
    """Whether pods are scaled by gauges that GKE reads from them, for which it wants the performance profile."""
    image_registry: NotRequired[ArtifactRegistry]
    """Where nodes pull images from, if that needs rights."""
    protected: bool
    """Refuse to delete or replace the cluster."""


class Cluster(pulumi.ComponentResource):
    """A GKE cluster without node pools, and the service account of its nodes."""

    name: pulumi.Output[str]
    """Name of the cluster."""
    kubeconfig: pulumi.Output[str]
    """How clients reach it (secret)."""
    workload_pool: pulumi.Output[str]
    """Pool of its Workload Identities, PROJECT.svc.id.goog."""
    node_service_account: pulumi.Output[str]
    """E-mail of the nodes' service account."""

    def __init__(self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("beamline:cluster:Cluster", name, None, opts)
        account, grants = node_identity(
            self, name, prefix=args["prefix"], project=args["project"], images=args.get("image_registry")
        )
        key = args.get("encryption_key")
        if key:
            grants += key_rights(self, name, project=args["project"], key=key)
        self.gke = container.Cluster(
            f"{name}-gke",
            name=args["prefix"],
            project=args["project"],
            location=args["region"],
            **_placement(args),
            **_versions(args),
            **_access(args),
            **_features(args),
            remove_default_node_pool=True,
            initial_node_count=1,
            node_config=node_config(account.email, encryption_key=key),
            # The provider's own guard, not Google's. It would stop a destroy half-way, when all the rest is gone;
            # Pulumi's protect below stops it before anything is touched.
            deletion_protection=False,
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=grants,  # nodes without them never become healthy, and creation waits for the first node
                protect=args["protected"] or None,
                delete_before_replace=True,  # the name can be taken only once
                ignore_changes=["nodeConfig"],  # after the first pool is gone, GKE reports another pool's here
                custom_timeouts=_TIMEOUTS,
            ),
        )
        self.name = self.gke.name
        self.node_service_account = account.email
        self.workload_pool = self.gke.workload_identity_config.workload_pool
        by_name = args["control_plane"]["dns_endpoint"]
        dns = self.gke.control_plane_endpoints_config.dns_endpoint_config
        endpoint = dns.endpoint if by_name else self.gke.endpoint
        authority = self.gke.master_auth.cluster_ca_certificate  # only the cloud knows it: a preview stops here
        self.kubeconfig = pulumi.Output.secret(
            pulumi.Output.all(endpoint, authority).apply(
                lambda known: kubeconfig(context=args["prefix"], endpoint=known[0], ca_certificate=known[1])
            )
        )
        self.register_outputs(
            {
                "name": self.name,
                "kubeconfig": self.kubeconfig,
                "workloadPool": self.workload_pool,
                "nodeServiceAccount": self.node_service_account,
            }
        )


def _placement(args: ClusterArgs) -> dict[str, Any]:
    return {
        "node_locations": [args["zone"]],
        "networking_mode": "VPC_NATIVE",
        "network": args["network"],
        "subnetwork": args["subnetwork"],
        "ip_allocation_policy": {
            "cluster_secondary_range_name": args["pods_range"],
            "services_secondary_range_name": args["services_range"],
        },
        "default_max_pods_per_node": _PODS_ON_TEMPORARY_NODE,
        "datapath_provider": "ADVANCED_DATAPATH",
    }


def _versions(args: ClusterArgs) -> dict[str, Any]:
    return {
        "release_channel": {"channel": args["release_channel"]},
        "min_master_version": args["version"],
        "maintenance_policy": maintenance_policy(args["maintenance"]),
    }


def _access(args: ClusterArgs) -> dict[str, Any]:
    return {
        **access(args["control_plane"]),
        "workload_identity_config": {"workload_pool": f"{args['project']}.svc.id.goog"},
        "enable_shielded_nodes": args["shielded_nodes"],
    }


def _features(args: ClusterArgs) -> dict[str, Any]:
    addons: dict[str, Any] = {"http_load_balancing": {"disabled": False}}  # the Gateway controller is part of it
    if args["mounts_buckets"]:
        addons["gcs_fuse_csi_driver_config"] = {"enabled": True}
    features: dict[str, Any] = {
        "addons_config": addons,
        "gateway_api_config": {"channel": "CHANNEL_STANDARD"},
        "logging_config": {"enable_components": ["SYSTEM_COMPONENTS", "WORKLOADS"]},
        "monitoring_config": {
            "enable_components": [*_METRICS, *(["DCGM"] if args["gpu_metrics"] else [])],
            "managed_prometheus": {"enabled": args["managed_prometheus"]},
        },
        "cost_management_config": {"enabled": True},
    }
    if args["scales_pods"]:
        features["pod_autoscaling"] = {"hpa_profile": "PERFORMANCE"}
    if args["mounts_secrets"]:
        features["secret_manager_config"] = {"enabled": True}
    if args["binary_authorization"]:
        features["binary_authorization"] = {"evaluation_mode": "PROJECT_SINGLETON_POLICY_ENFORCE"}
    if "encryption_key" in args:
        features["database_encryption"] = {"state": "ENCRYPTED", "key_name": args["encryption_key"]}
    return features
