"""The way in: a GKE Gateway, its routes and its policies.

GKE turns the Gateway into a load balancer with an address, in the VPC or on the internet, depending on its class. The
address appears in the Gateway's status once the load balancer answers, and is this component's output. All of it is
deleted through the API and before the cluster: load balancers and endpoint groups outlive a cluster and would keep the
VPC from being deleted.

GKE Gateway: https://cloud.google.com/kubernetes-engine/docs/concepts/gateway-api
"""

from collections.abc import Mapping
from typing import Any, TypedDict

import pulumi

from components.kubernetes_objects import CustomObject, ObjectArgs, register_objects

__all__ = ["Gateway", "GatewayArgs"]


class GatewayArgs(TypedDict):
    """One Gateway and what belongs to it."""

    objects: list[ObjectArgs]
    """The Kubernetes objects, among them one Gateway."""


class Gateway(pulumi.ComponentResource):
    """One GKE Gateway with its routes and policies."""

    address: pulumi.Output[str]
    """IP address of the load balancer; empty when nothing waited for it and it has none yet."""

    def __init__(self, name: str, args: GatewayArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("beamline:gateway:Gateway", name, None, opts)
        registered = register_objects(self, name, args["objects"])
        gateways = [registered[item["name"]] for item in args["objects"] if item["body"]["kind"] == "Gateway"]
        match gateways:
            case [CustomObject() as gateway]:
                self.address = gateway.status.apply(_address)
            case _:
                raise ValueError(f"{name} needs exactly one Gateway among its objects, not {len(gateways)}")
        self.register_outputs({"address": self.address})


def _address(status: Mapping[str, Any] | None) -> str:
    addresses = (status or {}).get("addresses") or []
    return str(addresses[0]["value"]) if addresses else ""
