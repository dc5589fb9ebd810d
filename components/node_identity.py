"""Who a stack's nodes are: a service account of their own with the least a node needs.

Nodes write their logs and metrics and pull images from one repository, nothing else. The project's default account is
not used: it may have far more rights, or none, or not exist.

Node service accounts: https://cloud.google.com/kubernetes-engine/docs/how-to/service-accounts
"""

from typing import TypedDict

import pulumi
from pulumi_gcp import artifactregistry, projects, serviceaccount

__all__ = ["ArtifactRegistry", "node_identity"]


class ArtifactRegistry(TypedDict):
    """One repository of Artifact Registry."""

    project: str
    """Project that owns it."""
    location: str
    """Region or multi-region, for example us-central1."""
    repository: str
    """Its name."""


def node_identity(
    parent: pulumi.Resource, name: str, *, prefix: str, project: str, images: ArtifactRegistry | None
) -> tuple[serviceaccount.Account, list[pulumi.Resource]]:
    """Register the account ``{prefix}-nodes`` and its rights as children of ``parent``; return it and the rights.

    Whatever makes nodes has to come after the rights: nodes without them never become healthy.
    """
    child = pulumi.ResourceOptions(parent=parent)
    account = serviceaccount.Account(
        f"{name}-nodes",
        account_id=f"{prefix}-nodes",
        project=project,
        display_name=f"Nodes of {prefix}",
        opts=child,
    )
    member = account.email.apply(lambda email: f"serviceAccount:{email}")
    grants: list[pulumi.Resource] = [
        projects.IAMMember(
            f"{name}-nodes-role",
            project=project,
            role="roles/container.defaultNodeServiceAccount",
            member=member,
            opts=child,
        )
    ]
    if images:
        grants.append(
            artifactregistry.RepositoryIamMember(
                f"{name}-nodes-images",
                project=images["project"],
                location=images["location"],
                repository=images["repository"],
                role="roles/artifactregistry.reader",
                member=member,
                opts=child,
            )
        )
    return account, grants
