"""Values of a third party's chart: the images of its catalog row, and what the kit decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stacks.charts import ChartReference
from stacks.merging import merge

__all__ = ["chart_values"]


def chart_values(chart: ChartReference, decided: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``decided`` laid on the chart's image values; lists replace, as in Helm."""
    return merge(chart.values, decided, {}, "")
