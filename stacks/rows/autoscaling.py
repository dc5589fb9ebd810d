"""The row about what adds and takes away pods: GKE's way to read gauges of pods."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from stacks.forms import ApiVersion, GkeVersion
from stacks.rows.base import Positive, Sourced, Strict

__all__ = ["Autoscaling", "PodMetricsRow"]


class PodMetricsRow(Sourced):
    """GKE reads gauges of pods itself and hands them to the HorizontalPodAutoscaler: no adapter, no monitoring."""

    api_version: ApiVersion = Field(description="Of AutoscalingMetric, the kind that says which gauges.")
    first_version: GkeVersion = Field(description="First GKE version that has it.")
    channels: Annotated[list[Literal["RAPID", "REGULAR", "STABLE", "EXTENDED"]], Field(min_length=1)] = Field(
        description="Release channels that are documented to have it."
    )
    most_per_cluster: Positive = Field(description="Gauges of one cluster, everybody's together.")


class Autoscaling(Strict):
    """What adds and takes away pods."""

    schema_file: ClassVar[str] = "autoscaling"

    pod_metrics: PodMetricsRow
