"""What checks look at: a composed stack with its rows and derived numbers, before anyone calls it valid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stacks.charts import ChartReference
from stacks.derive import Derived
from stacks.images import ImageReference
from stacks.row_lookup import Rows
from stacks.spec import Preset

__all__ = ["Candidate"]


@dataclass(frozen=True)
class Candidate:
    """A stack under examination; ``settings`` holds the valid ones only, ``overrides`` the valid ones.

    ``set_aside`` lists the paths of settings and overrides that were wrong: nothing, or the preset's own values, stand
    there, and what is found about those is not said.
    """

    stack: str
    settings: Mapping[str, Any]
    overrides: Mapping[str, Any]
    set_aside: frozenset[str]
    preset: Preset
    rows: Rows
    derived: Derived
    images: Mapping[str, ImageReference]
    charts: Mapping[str, ChartReference]
    applying: bool
