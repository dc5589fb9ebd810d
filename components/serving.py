"""llm-d serving: engine workers, and the endpoint picker that chooses one of them per request.

The picker sees prefix caches, queues and KV-cache use of every worker; the load balancer in front asks it through the
InferencePool. GKE installs the InferencePool kind, the stack its members.

llm-d on GKE: https://llm-d.ai/docs/guide/infrastructure/gke
Inference Gateway: https://cloud.google.com/kubernetes-engine/docs/concepts/about-gke-inference-gateway
"""

from typing import TypedDict

import pulumi

from components.kubernetes_objects import ObjectArgs, register_objects

__all__ = ["LlmdServing", "LlmdServingArgs"]


class LlmdServingArgs(TypedDict):
    """What serves, and where."""

    namespace: str
    """Namespace of engine and router."""
    objects: list[ObjectArgs]
    """The Kubernetes objects of engine and router."""


class LlmdServing(pulumi.ComponentResource):
    """Engine workers behind an llm-d endpoint picker."""

    namespace: pulumi.Output[str]
    """Namespace of engine and router."""

    def __init__(self, name: str, args: LlmdServingArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("beamline:serving:LlmdServing", name, None, opts)
        register_objects(self, name, args["objects"])
        self.namespace = pulumi.Output.from_input(args["namespace"])
        self.register_outputs({"namespace": self.namespace})
