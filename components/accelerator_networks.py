"""The right of GKE to make the networks between accelerators.

With an accelerator network profile GKE makes the networks of a node pool itself. It acts as the project's GKE service
agent, which lacks the right to. One grant is for all pools of a stack, so that it stays when one of them goes. It is
the project's: a second stack with such a pool shares it, and loses it when this one is destroyed, until it is applied
again after a refresh.

Source: https://cloud.google.com/kubernetes-engine/docs/how-to/allocate-network-resources-dra
"""

from typing import TypedDict

import pulumi
from pulumi_gcp import organizations, projects

__all__ = ["AcceleratorNetworkRights", "AcceleratorNetworkRightsArgs"]

_SERVICE_AGENT = "serviceAccount:service-{number}@container-engine-robot.iam.gserviceaccount.com"
"""GKE's own identity in a project, by the project's number."""


class AcceleratorNetworkRightsArgs(TypedDict):
    """Whom to give the right."""

    project: str
    """Google Cloud project id."""
    cluster: pulumi.Input[str]
    """Name of a cluster in it: GKE's service agent exists once the project has one."""


class AcceleratorNetworkRights(pulumi.ComponentResource):
    """Lets GKE make networks between accelerators."""

    def __init__(
        self, name: str, args: AcceleratorNetworkRightsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("beamline:cluster:AcceleratorNetworkRights", name, None, opts)
        project = pulumi.Output.from_input(args["cluster"]).apply(lambda _: args["project"])
        number = organizations.get_project_output(
            project_id=project, opts=pulumi.InvokeOutputOptions(parent=self)
        ).number
        projects.IAMMember(
            f"{name}-network-admin",
            project=args["project"],
            role="roles/compute.networkAdmin",
            member=pulumi.Output.format(_SERVICE_AGENT, number=number),
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({})
