"""What serves: engine workers and the router in front of them, one component for each router stack.

- llm-d: an endpoint picker sees prefix caches, queues and KV-cache use of every worker; the load balancer in front asks
  it through the InferencePool. GKE installs the InferencePool kind, the stack its members.
- Dynamo: an operator turns one DynamoGraphDeployment into frontends and workers, and frontends route by what workers
  have cached.

Charts that bring a controller (Dynamo's platform, LeaderWorkerSet for replicas over several nodes) come before the
objects of its kinds, and go after them: a controller that is gone would leave its objects' finalizers for ever.

llm-d on GKE: https://llm-d.ai/docs/guide/infrastructure/gke
Inference Gateway: https://cloud.google.com/kubernetes-engine/docs/concepts/about-gke-inference-gateway
Dynamo on Kubernetes: https://docs.nvidia.com/dynamo/latest/
LeaderWorkerSet: https://lws.sigs.k8s.io/docs/
"""

from typing import NotRequired, TypedDict

import pulumi

from components.helm_releases import ReleaseArgs
from components.kubernetes_objects import ObjectArgs, register_objects

__all__ = ["DynamoServing", "DynamoServingArgs", "LlmdServing", "LlmdServingArgs"]


class LlmdServingArgs(TypedDict):
    """What serves, and where."""

    namespace: str
    """Namespace of engine and router."""
    objects: list[ObjectArgs]
    """The Kubernetes objects of engine and router."""
    releases: NotRequired[list[ReleaseArgs]]
    """Charts of the controllers that the objects need."""


class DynamoServingArgs(TypedDict):
    """What serves, and where."""

    namespace: str
    """Namespace of frontends and workers."""
    objects: list[ObjectArgs]
    """The Kubernetes objects, among them the DynamoGraphDeployment."""
    releases: NotRequired[list[ReleaseArgs]]
    """Dynamo's platform; left out, the cluster has it already."""


class LlmdServing(pulumi.ComponentResource):
    """Engine workers behind an llm-d endpoint picker."""

    namespace: pulumi.Output[str]
    """Namespace of engine and router."""

    def __init__(self, name: str, args: LlmdServingArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("beamline:serving:LlmdServing", name, None, opts)
        register_objects(self, name, args["objects"], args.get("releases", []))
        self.namespace = pulumi.Output.from_input(args["namespace"])
        self.register_outputs({"namespace": self.namespace})


class DynamoServing(pulumi.ComponentResource):
    """Dynamo's operator, and frontends and workers that it runs."""

    namespace: pulumi.Output[str]
    """Namespace of frontends and workers."""

    def __init__(self, name: str, args: DynamoServingArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("beamline:serving:DynamoServing", name, None, opts)
        register_objects(self, name, args["objects"], args.get("releases", []))
        self.namespace = pulumi.Output.from_input(args["namespace"])
        self.register_outputs({"namespace": self.namespace})
