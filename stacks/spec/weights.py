"""What a preset says about weights: which, where they come from, and where engines read them.

Source and storage are two questions: the first names the files, the second how a pod gets to see them. A stack has
exactly one storage, for the model's weights and the drafter's alike.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from stacks.forms import BucketName, HubRepository, HubRevision, ObjectPrefix, ResourceName, SecretId, Text
from stacks.rows import Strict

__all__ = ["Bucket", "GcsFuse", "HuggingFace", "HyperdiskMl", "LocalSsd", "Model", "Storage", "WeightSource"]


class Bucket(Strict):
    """Weights in an existing Cloud Storage bucket; read through Workload Identity, so no key exists."""

    kind: Literal["bucket"]
    bucket: BucketName
    prefix: ObjectPrefix


class HuggingFace(Strict):
    """Weights from the Hugging Face hub; once per node, never once per pod."""

    kind: Literal["huggingface"]
    repository: HubRepository
    revision: HubRevision = Field(description="Commit of the repository; a branch would change under you.")
    token_secret: SecretId | None = Field(
        default=None, description="Secret Manager secret that holds the token (its latest enabled version); null: none."
    )


WeightSource = Annotated[Bucket | HuggingFace, Field(discriminator="kind")]


class LocalSsd(Strict):
    """A DaemonSet copies them to each node's local SSD, once per node and not once per pod."""

    kind: Literal["local_ssd"]


class GcsFuse(Strict):
    """Pods mount the bucket read-only through GKE's Cloud Storage FUSE driver; each caches what it has read."""

    kind: Literal["gcs_fuse"]


class HyperdiskMl(Strict):
    """Pods mount an existing Hyperdisk ML volume read-only, in which each set is in the folder it has at its source.

    That is the bucket's prefix, or the hub's repository with its owner. The stack neither makes nor fills the volume.
    """

    kind: Literal["hyperdisk_ml"]
    disk: ResourceName = Field(description="Name of the disk, in the stack's project and zone.")
    throughput_mib_per_s: Annotated[int, Field(gt=0, le=2_097_152)] = Field(
        description="What the disk is provisioned with, for all nodes together; startup budgets follow from it."
    )


Storage = Annotated[LocalSsd | GcsFuse | HyperdiskMl, Field(discriminator="kind")]


class Model(Strict):
    """Which weights are served, where they come from, and where engines read them."""

    name: Text = Field(description="A row of stacks/catalog/models.")
    checkpoint: Text = Field(description="A checkpoint of that row.")
    weights: WeightSource
    storage: Storage = Field(default=LocalSsd(kind="local_ssd"), description="The drafter's weights are there, too.")
