"""What a manifest function returns: a plain Kubernetes object and when it counts as done.

The same object is rendered to YAML, checked against schemas and applied, so it stays a plain dict; what only an applier
needs (how long to wait, and for what) is kept beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from stacks.charts import ChartReference

__all__ = ["Area", "HelmRelease", "KubernetesObject"]

Area = Literal["fabric", "weights", "serving", "gateway", "monitoring"]
"""Component that owns the object; areas are applied in this order."""


@dataclass(frozen=True)
class KubernetesObject:
    """One object. ``name`` is its stable name inside the area, part of the resource's public surface.

    ``timeout_s`` bounds the wait for it when it is created; ``update_timeout_s`` when it is changed, where that takes
    longer because old pods drain first (None: as for creating). ``wait_for`` lists kubectl-style conditions
    (``condition=Programmed``, ``jsonpath={...}=value``) a custom resource must reach. ``alone`` tells that there is no
    room for two: when one of another name takes its place, the old one goes first. ``after`` names objects of the same
    area, or Helm releases of it, that come first. ``await_ready`` false tells an applier to go on as soon as the API
    took the object.
    """

    area: Area
    name: str
    body: Mapping[str, Any]
    timeout_s: int | None = None
    update_timeout_s: int | None = None
    wait_for: tuple[str, ...] = ()
    alone: bool = False
    after: tuple[str, ...] = ()
    await_ready: bool = True


@dataclass(frozen=True)
class HelmRelease:
    """A third party's chart as the stack installs it; ``name`` is the release's, the same at every run.

    ``values`` are complete: the chart's images with mirror and digest are in them. ``timeout_s`` bounds the wait until
    everything it installs is ready; ``after`` names objects of the same area that come first (its namespace).
    """

    area: Area
    name: str
    chart: ChartReference
    values: Mapping[str, Any]
    timeout_s: int
    after: tuple[str, ...] = ()
