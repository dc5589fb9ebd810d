"""Catalog rows: facts about hardware, models, engines and releases, as typed data.

A row is one YAML file under ``stacks/catalog/``. Every group of figures names where it was read and when, and every
figure has its unit in the field name, so that new hardware or a new model is a new file and never a new ``if``.
"""

from __future__ import annotations

from stacks.rows.autoscaling import Autoscaling, PodMetricsRow
from stacks.rows.base import ChartImage, ChartRow, ContainerUser, EngineImage, ImageRow, RefusedKind, Sourced, Strict
from stacks.rows.clients import Api, ClientRow, Deadline, KeyPath
from stacks.rows.hardware import (
    AcceleratorPrice,
    Fabric,
    GkeSupport,
    HardwareColumns,
    HardwareRow,
    MachineShape,
    SystemMachineRow,
)
from stacks.rows.models import Architecture, Checkpoint, Drafter, EngineKind, ModelRow, ModelSupport
from stacks.rows.refusals import Refused
from stacks.rows.routers import DynamoRelease, FlowOrder, LlmdRelease, ReleaseRow
from stacks.rows.serving import EngineRow, HelperCharts, HelperImages, TransportRow
from stacks.rows.weight_storage import GcsFuseRow, HyperdiskMlRow, WeightStorage

__all__ = [
    "AcceleratorPrice",
    "Api",
    "Architecture",
    "Autoscaling",
    "ChartImage",
    "ChartRow",
    "Checkpoint",
    "ClientRow",
    "ContainerUser",
    "Deadline",
    "Drafter",
    "DynamoRelease",
    "EngineImage",
    "EngineKind",
    "EngineRow",
    "Fabric",
    "FlowOrder",
    "GcsFuseRow",
    "GkeSupport",
    "HardwareColumns",
    "HardwareRow",
    "HelperCharts",
    "HelperImages",
    "HyperdiskMlRow",
    "ImageRow",
    "KeyPath",
    "LlmdRelease",
    "MachineShape",
    "ModelRow",
    "ModelSupport",
    "PodMetricsRow",
    "Refused",
    "RefusedKind",
    "ReleaseRow",
    "Sourced",
    "Strict",
    "SystemMachineRow",
    "TransportRow",
    "WeightStorage",
]
