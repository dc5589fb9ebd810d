"""One serving stack, composed forward only.

``Network -> Cluster -> SystemNodePool -> AcceleratorNodePools -> Fabric -> Weights -> serving -> Gateway ->
Monitoring``: each part knows what stands before it and nothing of what comes after, so the stack is created in this
order and destroyed in the reverse. What is asked of the parts is in ``components.stack_args``; how they do it is in
their own files. Cluster and network may be there already: a component of another type then looks them up, with the
same outputs.

Two edges are worth a word. GKE runs one operation of a cluster at a time, so the pools come one after the other. The
Kubernetes provider depends on all pools, and with it every object: none is applied before there are nodes, and on the
way down all are gone before the nodes are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_gcp
import pulumi_kubernetes
from pulumi_kubernetes import core

from components.accelerator_networks import AcceleratorNetworkRights, AcceleratorNetworkRightsArgs
from components.accelerator_node_pool import AcceleratorNodePool
from components.cluster import Cluster
from components.connection import client_outputs, connection, endpoint
from components.existing_cluster import ExistingCluster
from components.existing_network import ExistingNetwork
from components.fabric import Fabric
from components.gateway import Gateway
from components.helm_releases import ReleaseArgs
from components.kubernetes_objects import ObjectArgs
from components.monitoring import Monitoring
from components.mounted_weights import MountedWeights, MountedWeightsArgs
from components.network import Network
from components.serving import DynamoServing, LlmdServing
from components.stack_args import (
    accelerator_pool_args,
    cluster_args,
    existing_cluster_args,
    existing_network_args,
    network_args,
    object_args,
    release_args,
    system_pool_args,
)
from components.system_node_pool import SystemNodePool
from components.weights import Weights
from manifests import Area, buckets, is_seeded, releases, render, token_secrets, weights_service_account
from stacks import StackSpec
from stacks import spec as plans

__all__ = ["InferenceStack"]

_WEIGHTS = ("beamline:weights:Weights", "beamline:weights:MountedWeights")
"""When weights move to another storage, what both make (the engine's namespace above all) is the same, and stays."""


class InferenceStack(pulumi.ComponentResource):
    """A model served on GKE: from the VPC to the address clients talk to."""

    outputs: Mapping[str, pulumi.Input[Any]]
    """What the stack exports: endpoint, model, connect, clients, kubeconfig (secret), namespace, cluster."""

    def __init__(self, name: str, spec: StackSpec, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("beamline:stack:InferenceStack", name, None, opts)
        self._spec = spec
        self._name = name
        self._objects = render(spec)
        self._releases = releases(spec)
        self._google = pulumi_gcp.Provider(
            f"{name}-google",
            project=spec.settings.project,
            region=spec.settings.region,
            zone=spec.settings.zone,
            opts=pulumi.ResourceOptions(parent=self),
        )
        cluster = self._cluster()
        kubernetes = self._kubernetes(cluster, self._node_pools(cluster))
        before = [*self._existing_namespace(kubernetes), *self._fabric(kubernetes)]
        weights = self._weights(cluster, kubernetes, before)
        serving = self._serving(kubernetes, weights)
        gateway = Gateway(
            f"{name}-gateway", {"objects": self._objects_of("gateway")}, self._in_cluster(kubernetes, [serving])
        )
        self._monitoring(kubernetes, gateway)
        url = endpoint(spec, gateway.address)
        self.outputs = {
            "endpoint": url,
            "model": spec.rows.model.served_name,
            "connect": connection(spec, url),
            "clients": client_outputs(spec, gateway.address),
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

    def _network(self) -> Network | ExistingNetwork:
        name = f"{self._name}-network"
        match self._spec.preset.network:
            case plans.NewNetwork() as plan:
                return Network(name, network_args(self._spec, plan), self._at_google([]))
            case plans.ExistingNetwork() as plan:
                return ExistingNetwork(name, existing_network_args(self._spec, plan), self._at_google([]))
            case plans.ClusterNetwork():
                raise TypeError(f"{self._spec.name} has a new cluster without a network, which its checks refuse")

    def _cluster(self) -> Cluster | ExistingCluster:
        name = f"{self._name}-cluster"
        match self._spec.preset.cluster:
            case plans.NewCluster() as plan:
                network = self._network()
                return Cluster(name, cluster_args(self._spec, plan, network), self._at_google([network]))
            case plans.ExistingCluster() as plan:
                return ExistingCluster(name, existing_cluster_args(self._spec, plan), self._at_google([]))

    def _node_pools(self, cluster: Cluster | ExistingCluster) -> list[pulumi.Resource]:
        system_pool = SystemNodePool(
            f"{self._name}-system", system_pool_args(self._spec, cluster), self._at_google([cluster])
        )
        pools: list[pulumi.Resource] = [system_pool]
        rights = self._network_rights(cluster)
        for pool in self._spec.pools:
            args = accelerator_pool_args(self._spec, pool, cluster)
            after = [pools[-1], *rights]
            pools.append(AcceleratorNodePool(f"{self._name}-{pool.name}", args, self._at_google(after)))
        return pools

    def _network_rights(self, cluster: Cluster | ExistingCluster) -> list[pulumi.Resource]:
        rows = self._spec.rows
        if not any(rows.network_profile(row) for row in rows.pools.values()):
            return []
        args: AcceleratorNetworkRightsArgs = {"project": self._spec.settings.project, "cluster": cluster.name}
        return [AcceleratorNetworkRights(f"{self._name}-accelerators", args, self._at_google([cluster]))]

    def _kubernetes(
        self, cluster: Cluster | ExistingCluster, pools: Sequence[pulumi.Resource]
    ) -> pulumi_kubernetes.Provider:
        settings, plan = self._spec.settings, self._spec.preset.cluster
        name = plan.name if isinstance(plan, plans.ExistingCluster) else self._spec.prefix
        return pulumi_kubernetes.Provider(
            f"{self._name}-kubernetes",
            kubeconfig=cluster.kubeconfig,
            # A literal: without it a new kubeconfig, or one unknown in a preview, would replace every object.
            cluster_identifier=f"projects/{settings.project}/locations/{settings.region}/clusters/{name}",
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(pools)),
        )

    def _existing_namespace(self, kubernetes: pulumi_kubernetes.Provider) -> list[pulumi.Resource]:
        """The engine's namespace, looked up where it is there already: a preview then says that it is not."""
        serving = self._spec.preset.serving
        if not serving.existing_namespace:
            return []
        opts = pulumi.ResourceOptions(parent=self, provider=kubernetes)
        return [core.v1.Namespace.get(f"{self._name}-namespace", serving.namespace, opts)]

    def _fabric(self, kubernetes: pulumi_kubernetes.Provider) -> list[pulumi.Resource]:
        """Nothing where pods of different nodes share nothing: the engine drops an edge to an empty component."""
        objects, charts = self._objects_of("fabric"), self._releases_of("fabric")
        if not (objects or charts):
            return []
        opts = self._in_cluster(kubernetes, [])
        return [Fabric(f"{self._name}-fabric", {"objects": objects, "releases": charts}, opts)]

    def _weights(
        self, cluster: Cluster | ExistingCluster, kubernetes: pulumi_kubernetes.Provider, after: list[pulumi.Resource]
    ) -> Weights | MountedWeights:
        spec, name = self._spec, f"{self._name}-weights"
        namespace, service_account = weights_service_account(spec)
        mounted: MountedWeightsArgs = {
            "project": spec.settings.project,
            "workload_pool": cluster.workload_pool,
            "namespace": namespace,
            "kubernetes_service_account": service_account,
            "buckets": buckets(spec),
            "objects": self._objects_of("weights"),
        }
        options = self._in_cluster(kubernetes, after)
        options.aliases = [pulumi.Alias(type_=kind) for kind in _WEIGHTS]
        if is_seeded(spec):
            return Weights(name, {"prefix": spec.prefix, "secrets": token_secrets(spec), **mounted}, options)
        return MountedWeights(name, mounted, options)

    def _serving(
        self, kubernetes: pulumi_kubernetes.Provider, weights: Weights | MountedWeights
    ) -> LlmdServing | DynamoServing:
        name, opts = f"{self._name}-serving", self._in_cluster(kubernetes, [weights])
        namespace = self._spec.preset.serving.namespace
        objects, charts = self._objects_of("serving"), self._releases_of("serving")
        match self._spec.preset.serving.router:
            case plans.LlmdRouter():
                return LlmdServing(name, {"namespace": namespace, "objects": objects, "releases": charts}, opts)
            case plans.DynamoRouter():
                return DynamoServing(name, {"namespace": namespace, "objects": objects, "releases": charts}, opts)

    def _monitoring(self, kubernetes: pulumi_kubernetes.Provider, gateway: Gateway) -> None:
        match self._spec.preset.monitoring:
            case plans.ManagedPrometheus():
                objects = self._objects_of("monitoring")
                Monitoring(f"{self._name}-monitoring", {"objects": objects}, self._in_cluster(kubernetes, [gateway]))
            case plans.NoMonitoring():
                pass

    def _objects_of(self, area: Area) -> list[ObjectArgs]:
        return [object_args(item) for item in self._objects if item.area == area]

    def _releases_of(self, area: Area) -> list[ReleaseArgs]:
        return [release_args(item) for item in self._releases if item.area == area]
