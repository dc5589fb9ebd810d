"""What lets pods of different nodes reach each other's GPUs, on nodes that share a fabric.

GKE brings drivers of GPUs and, with an accelerator network profile, of network devices. What it does not bring is
here: the agent that sets up RDMA cards of bare metal, and NVIDIA's driver of ComputeDomains, which opens NVLink between
the nodes of a domain. Both run on the accelerator nodes and have to be ready before any pod claims what they publish.

NVLink between nodes: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu
A4X Max with GKE: https://cloud.google.com/ai-hypercomputer/docs/create/gke-ai-hypercompute-custom-a4x-max
"""

from typing import NotRequired, TypedDict

import pulumi

from components.helm_releases import ReleaseArgs
from components.kubernetes_objects import ObjectArgs, register_objects

__all__ = ["Fabric", "FabricArgs"]


class FabricArgs(TypedDict):
    """Node agents and drivers."""

    objects: list[ObjectArgs]
    """The Kubernetes objects: agents, and what the charts need."""
    releases: NotRequired[list[ReleaseArgs]]
    """Charts of drivers."""


class Fabric(pulumi.ComponentResource):
    """Node agents and drivers of the network between accelerators."""

    def __init__(self, name: str, args: FabricArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("beamline:fabric:Fabric", name, None, opts)
        register_objects(self, name, args["objects"], args.get("releases", []))
        self.register_outputs({})
