"""One serving stack, composed forward only.

``Network -> Cluster -> SystemNodePool -> AcceleratorNodePool -> Weights -> serving -> Gateway -> Monitoring``: each
part knows what stands before it and nothing of what comes after, so the stack is created in this order and destroyed in
the reverse. What is asked of the parts is here; how they do it is in their own files.

Two edges are worth a word. GKE runs one operation of a cluster at a time, so the pools come one after the other. The
Kubernetes provider depends on both pools, and with it every object: none is applied before there are nodes, and on the
way down all are gone before the nodes are.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_gcp
import pulumi_kubernetes

from components.accelerator_node_pool import AcceleratorNodePool, AcceleratorNodePoolArgs
from components.cluster import Cluster, ClusterArgs
from components.connection import connection, endpoint
from components.gateway import Gateway
from components.kubernetes_objects import ObjectArgs
from components.monitoring import Monitoring
from components.network import Network
from components.registry import artifact_registry
from components.serving import LlmdServing
from components.system_node_pool import SystemNodePool
from components.weights import Weights
from manifests import Area, KubernetesObject, buckets, render, token_secrets, weights_service_account
from stacks import StackSpec
from stacks.spec import DynamoRouter, LlmdRouter, NewCluster, NewNetwork, Spot

__all__ = ["InferenceStack"]


class InferenceStack(pulumi.ComponentResource):
    """A model served on GKE: from the VPC to the address clients talk to."""

    outputs: Mapping[str, pulumi.Input[Any]]
    """What the stack exports: endpoint, model, connect, kubeconfig (secret), namespace, cluster."""

    def __init__(self, name: str, spec: StackSpec, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("beamline:stack:InferenceStack", name, None, opts)
        self._spec = spec
        self._name = name
        self._objects = render(spec)
        self._google = pulumi_gcp.Provider(
            f"{name}-google",
            project=spec.settings.project,
            region=spec.settings.region,
            zone=spec.settings.zone,
            opts=pulumi.ResourceOptions(parent=self),
        )
        network = self._network()
        cluster = self._cluster(network)
        kubernetes = self._kubernetes(cluster, self._node_pools(cluster))
        weights = self._weights(cluster, kubernetes)
        serving = self._serving(kubernetes, weights)
        gateway = Gateway(
            f"{name}-gateway", {"objects": self._objects_of("gateway")}, self._in_cluster(kubernetes, [serving])
        )
        Monitoring(
            f"{name}-monitoring", {"objects": self._objects_of("monitoring")}, self._in_cluster(kubernetes, [gateway])
        )
        url = endpoint(spec, gateway.address)
        self.outputs = {
            "endpoint": url,
            "model": spec.rows.model.served_name,
            "connect": connection(spec, url),
            "kubeconfig": cluster.kubeconfig,
            "namespace": serving.namespace,
            "cluster": cluster.name,
        }
        self.register_outputs(dict(self.outputs))

    def _at_google(self, after: Sequence[pulumi.Resource]) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=self, providers=[self._google], depends_on=list(after))

    def _in_cluster(
        self, kubernetes: pulumi_kubernetes.Provider, after: Sequence[pulumi.Resource]
    ) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=self, providers=[self._google, kubernetes], depends_on=list(after))

    def _network(self) -> Network:
        plan = self._spec.preset.network
        if not isinstance(plan, NewNetwork):
            raise TypeError(f"{plan.kind} networks are not built yet")
        return Network(
            f"{self._name}-network",
            {
                "prefix": self._spec.prefix,
                "project": self._spec.settings.project,
                "region": self._spec.settings.region,
                "mtu": plan.mtu,
                "nodes_cidr": plan.nodes_cidr,
                "pods_cidr": plan.pods_cidr,
                "services_cidr": plan.services_cidr,
                "proxy_only_cidr": plan.proxy_only_cidr,
            },
            self._at_google([]),
        )

    def _cluster(self, network: Network) -> Cluster:
        spec = self._spec
        if not isinstance(spec.preset.cluster, NewCluster):
            raise TypeError(f"{spec.preset.cluster.kind} clusters are not built yet")
        args: ClusterArgs = {
            "prefix": spec.prefix,
            "project": spec.settings.project,
            "region": spec.settings.region,
            "zone": spec.settings.zone,
            "network": network.network,
            "subnetwork": network.subnetwork,
            "pods_range": network.pods_range,
            "services_range": network.services_range,
            "release_channel": spec.preset.cluster.release_channel,
            "version": spec.preset.cluster.version,
            "mounts_secrets": bool(token_secrets(spec)),
            "protected": spec.preset.production,
        }
        registry = artifact_registry(spec.settings.mirror)
        if registry:
            args["image_registry"] = registry
        return Cluster(f"{self._name}-cluster", args, self._at_google([network]))

    def _node_pools(self, cluster: Cluster) -> list[pulumi.Resource]:
        spec = self._spec
        system, row = spec.preset.system_pool, spec.rows.system
        system_pool = SystemNodePool(
            f"{self._name}-system",
            {
                "prefix": spec.prefix,
                "project": spec.settings.project,
                "region": spec.settings.region,
                "zone": spec.settings.zone,
                "cluster": cluster.name,
                "service_account": cluster.node_service_account,
                "version": spec.preset.cluster.version,
                "machine_type": system.machine_type,
                "nodes": system.nodes,
                "boot_disk_type": row.gke.boot_disk_types[0],
                "boot_disk_gb": system.boot_disk_gb,
                "max_pods_per_node": row.gke.max_pods_per_node,
                "protected": spec.preset.production,
            },
            self._at_google([cluster]),
        )
        accelerator_pool = AcceleratorNodePool(
            f"{self._name}-accelerator", _accelerator_args(spec, cluster), self._at_google([system_pool])
        )
        return [system_pool, accelerator_pool]

    def _kubernetes(self, cluster: Cluster, pools: Sequence[pulumi.Resource]) -> pulumi_kubernetes.Provider:
        settings = self._spec.settings
        return pulumi_kubernetes.Provider(
            f"{self._name}-kubernetes",
            kubeconfig=cluster.kubeconfig,
            # A literal: without it a new kubeconfig, or one unknown in a preview, would replace every object.
            cluster_identifier=f"projects/{settings.project}/locations/{settings.region}/clusters/{self._spec.prefix}",
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(pools)),
        )

    def _weights(self, cluster: Cluster, kubernetes: pulumi_kubernetes.Provider) -> Weights:
        spec = self._spec
        namespace, service_account = weights_service_account(spec)
        return Weights(
            f"{self._name}-weights",
            {
                "prefix": spec.prefix,
                "project": spec.settings.project,
                "workload_pool": cluster.workload_pool,
                "namespace": namespace,
                "kubernetes_service_account": service_account,
                "buckets": buckets(spec),
                "secrets": token_secrets(spec),
                "objects": self._objects_of("weights"),
            },
            self._in_cluster(kubernetes, []),
        )

    def _serving(self, kubernetes: pulumi_kubernetes.Provider, weights: Weights) -> LlmdServing:
        match self._spec.preset.serving.router:
            case LlmdRouter():
                return LlmdServing(
                    f"{self._name}-serving",
                    {"namespace": self._spec.preset.serving.namespace, "objects": self._objects_of("serving")},
                    self._in_cluster(kubernetes, [weights]),
                )
            case DynamoRouter():
                raise TypeError("Dynamo is not built yet")

    def _objects_of(self, area: Area) -> list[ObjectArgs]:
        return [_object_args(item) for item in self._objects if item.area == area]


def _accelerator_args(spec: StackSpec, cluster: Cluster) -> AcceleratorNodePoolArgs:
    pool, row = spec.preset.accelerator_pool, spec.rows.hardware
    args: AcceleratorNodePoolArgs = {
        "prefix": spec.prefix,
        "project": spec.settings.project,
        "region": spec.settings.region,
        "zone": spec.settings.zone,
        "cluster": cluster.name,
        "service_account": cluster.node_service_account,
        "version": spec.preset.cluster.version,
        "machine_type": pool.machine_type,
        "accelerator_type": row.gpu.accelerator_type,
        "accelerators_per_node": row.gpu.count,
        "taints": row.gke.taints,
        "nodes": pool.nodes,
        "boot_disk_type": row.gke.boot_disk_types[0],
        "boot_disk_gb": pool.boot_disk_gb,
        "local_ssd_count": spec.derived.local_ssd_count,
        "max_pods_per_node": row.gke.max_pods_per_node,
        "spot": isinstance(pool.provisioning, Spot),
        "image_streaming": artifact_registry(spec.settings.mirror) is not None,
        "node_budget_s": spec.derived.node_budget_s,
        "protected": spec.preset.production,
    }
    if spec.settings.reservation:
        args["reservation"] = spec.settings.reservation
    return args


def _object_args(item: KubernetesObject) -> ObjectArgs:
    args: ObjectArgs = {"name": item.name, "body": dict(item.body), "await_ready": item.await_ready}
    if item.timeout_s is not None:
        args["timeout_s"] = item.timeout_s
    if item.update_timeout_s is not None:
        args["update_timeout_s"] = item.update_timeout_s
    if item.wait_for:
        args["wait_for"] = list(item.wait_for)
    if item.after:
        args["after"] = list(item.after)
    return args
