"""Facts about what can hold weights besides local SSD; those of a machine are in its own row."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from stacks.forms import GkeVersion
from stacks.rows.base import Positive, Rate, Sourced, Strict

__all__ = ["GcsFuseRow", "HyperdiskMlRow", "WeightStorage"]


class GcsFuseRow(Sourced):
    """GKE's Cloud Storage FUSE driver, which mounts by a container that it adds to the pod."""

    first_version: GkeVersion = Field(description="First GKE version whose driver takes all options the kit sets.")
    load_gb_per_s: Rate = Field(description="Bucket to GPU memory, one node.")
    cpu_millicores: Positive = Field(description="Request of the added container; it may use more.")
    memory_gib: Positive = Field(description="Request and limit of the added container.")
    other_files_gib: Positive = Field(
        description="Of each set: what lies beside its weights (tokenizer, configuration, index), with room to spare."
    )
    buffer_gib: Positive = Field(description="Ephemeral storage of the added container besides its cache.")


class Sharing(Strict):
    """How many nodes can have volumes of a size at the same time."""

    up_to_gib: Positive
    nodes: Positive


class HyperdiskMlRow(Sourced):
    """Hyperdisk ML volumes that many nodes read."""

    mib_per_s_per_node: Positive = Field(description="The most one node gets, however much the volume has.")
    sharing: Annotated[list[Sharing], Field(min_length=1)] = Field(description="From the smallest volumes up.")
    few_nodes: Positive = Field(description="So many nodes may share it with any throughput.")
    mib_per_s_per_node_beyond: Positive = Field(description="What the volume must have for each node where more do.")


class WeightStorage(Strict):
    """What serves weights besides local SSD."""

    schema_file: ClassVar[str] = "weight-storage"

    gcs_fuse: GcsFuseRow
    hyperdisk_ml: HyperdiskMlRow
