"""Weights that engine pods mount from where they are: a bucket, or a disk that somebody filled.

Nothing is copied to nodes. Of a bucket the pods' own Kubernetes service account may read the objects, as a principal of
Workload Identity: there is no Google service account to look after, no key, and no annotation that could be wrong. A
disk needs no right of the pods; the nodes attach it.

Principals: https://cloud.google.com/kubernetes-engine/docs/how-to/workload-identity
"""

from typing import TypedDict

import pulumi
from pulumi_gcp import organizations, storage

from components.kubernetes_objects import ObjectArgs, register_objects

__all__ = ["MountedWeights", "MountedWeightsArgs"]


class MountedWeightsArgs(TypedDict):
    """Who mounts weights, from which buckets, and the objects that name them."""

    project: str
    """Google Cloud project id."""
    workload_pool: pulumi.Input[str]
    """The cluster's pool of Workload Identities, PROJECT.svc.id.goog."""
    namespace: str
    """Namespace of the pods that mount them."""
    kubernetes_service_account: str
    """Kubernetes service account of these pods."""
    buckets: list[str]
    """Cloud Storage buckets with weights; none where they are on a disk."""
    objects: list[ObjectArgs]
    """The Kubernetes objects that come before the engine: namespaces, network policies, a volume."""


class MountedWeights(pulumi.ComponentResource):
    """Reading of weights in place, with the least rights that allow it."""

    def __init__(self, name: str, args: MountedWeightsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("beamline:weights:MountedWeights", name, None, opts)
        if args["buckets"]:
            number = organizations.get_project_output(
                project_id=args["project"], opts=pulumi.InvokeOutputOptions(parent=self)
            ).number
            account = f"subject/ns/{args['namespace']}/sa/{args['kubernetes_service_account']}"
            member = pulumi.Output.concat(
                "principal://iam.googleapis.com/projects/", number, "/locations/global/workloadIdentityPools/",
                args["workload_pool"], "/", account,
            )  # fmt: skip
            for bucket in args["buckets"]:
                storage.BucketIAMMember(
                    f"{name}-bucket-{bucket}",
                    bucket=bucket,
                    role="roles/storage.objectViewer",
                    member=member,
                    opts=pulumi.ResourceOptions(parent=self),
                )
        register_objects(self, name, args["objects"])
        self.register_outputs({})
