"""Weights on every accelerator node, and the identity that may read them.

Local SSD belongs to a node, so a DaemonSet copies the checkpoint once per node; engines start after that and never pull
hundreds of gigabytes each. The seeding pods act as a Google service account through Workload Identity: no key exists.
It reads the named buckets and the named secrets (a model hub's token), and nothing else in the project.

Workload Identity: https://cloud.google.com/kubernetes-engine/docs/how-to/workload-identity
"""

from typing import TypedDict

import pulumi
from pulumi_gcp import secretmanager, serviceaccount, storage

from components.kubernetes_objects import ObjectArgs, register_objects

__all__ = ["Weights", "WeightsArgs"]


class WeightsArgs(TypedDict):
    """Who reads the weights, from where, and the objects that bring them to the nodes."""

    prefix: str
    """Start of the Google service account's id (at most 22 characters)."""
    project: str
    """Google Cloud project id."""
    workload_pool: pulumi.Input[str]
    """The cluster's pool of Workload Identities, PROJECT.svc.id.goog."""
    namespace: str
    """Namespace of the seeding pods."""
    kubernetes_service_account: str
    """Kubernetes service account of the seeding pods."""
    buckets: list[str]
    """Cloud Storage buckets with weights."""
    secrets: list[str]
    """Secret Manager secrets the seeding pods read."""
    objects: list[ObjectArgs]
    """The Kubernetes objects that seed the nodes."""


class Weights(pulumi.ComponentResource):
    """Seeding of weights with the least rights that allow it."""

    service_account: pulumi.Output[str]
    """E-mail of the Google service account."""

    def __init__(self, name: str, args: WeightsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("beamline:weights:Weights", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        account = serviceaccount.Account(
            f"{name}-reader",
            account_id=f"{args['prefix']}-weights",
            project=args["project"],
            display_name=f"Weights of {args['prefix']}",
            opts=child,
        )
        serviceaccount.IAMMember(
            f"{name}-reader-identity",
            service_account_id=account.name,
            role="roles/iam.workloadIdentityUser",
            member=pulumi.Output.concat(
                "serviceAccount:", args["workload_pool"],
                f"[{args['namespace']}/{args['kubernetes_service_account']}]",
            ),
            opts=child,
        )  # fmt: skip
        member = pulumi.Output.concat("serviceAccount:", account.email)
        for bucket in args["buckets"]:
            storage.BucketIAMMember(
                f"{name}-bucket-{bucket}", bucket=bucket, role="roles/storage.objectViewer", member=member, opts=child
            )
        for secret in args["secrets"]:
            secretmanager.SecretIamMember(
                f"{name}-secret-{secret}",
                project=args["project"],
                secret_id=secret,
                role="roles/secretmanager.secretAccessor",
                member=member,
                opts=child,
            )
        register_objects(self, name, args["objects"])
        self.service_account = account.email
        self.register_outputs({"serviceAccount": self.service_account})
