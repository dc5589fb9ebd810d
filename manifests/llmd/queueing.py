"""Flow control: requests wait in the picker until a replica has a free place, in bands and in an order within each.

- A replica has as many places as it runs sequences, and a few more, so that the next request is there when one ends.
  Places are counted by the picker itself: it does not wait for metrics, and does not stop when they are late.
- A band is a priority that a request gets by the name of an InferenceObjective; those that name none have priority 0.
  Below zero, a band is the first to be refused.
- Queues of a band are told apart by session. ``turn_priority`` needs that; in order of arrival it changes nothing.
- Requests wait in the picker's memory with their whole text: all bands together take a part of its limit, each its
  share.
- How long a request may wait is one number for all bands in releases that have no other.
- Nothing that runs is broken off for the sake of something more important (``enableEviction`` stays off).

Source: llm-d-router v0.10.0, apix/config/v1alpha1, flowcontrol/saturationdetector/concurrency; llm-d guides, flow
control tuning and turn-priority fairness
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from manifests.chosen import llmd_release
from manifests.llmd.plugins import Plugin
from manifests.llmd.sessions import session_identity
from stacks.memory import GIB
from stacks.resolve import StackSpec
from stacks.spec import Band, FlowControl

__all__ = ["Queueing", "queueing"]

_DETECTOR = "concurrency-detector"
_BY_ARRIVAL = "fcfs-ordering-policy"


@dataclass(frozen=True)
class Queueing:
    """Plugins, the gate that turns the feature on, and its section; all empty without flow control."""

    plugins: tuple[Plugin, ...] = ()
    gates: tuple[str, ...] = ()
    section: Mapping[str, Any] = field(default_factory=dict)


def queueing(spec: StackSpec) -> Queueing:
    """Return the configuration's part about waiting."""
    control = spec.preset.serving.routing.flow_control
    if control is None:
        return Queueing()
    fairness = _fairness(spec, control)
    return Queueing(
        plugins=(
            session_identity(),
            Plugin("inflight-load-producer"),
            Plugin(_DETECTOR, {"maxConcurrency": spec.derived.places_per_replica}),
            fairness,
            Plugin(_BY_ARRIVAL),
        ),
        gates=("flowControl",),
        section=_section(spec, control, fairness),
    )


def _fairness(spec: StackSpec, control: FlowControl) -> Plugin:
    """What chooses among the queues of a band: the head that waits longest, or the session that is deepest."""
    plugin = llmd_release(spec).flow.words[control.order]
    if control.order != "turn_priority":
        return Plugin(plugin)
    affinity = spec.preset.serving.routing.session_affinity
    return Plugin(
        plugin,
        {
            "strategy": "turn-priority",
            "turnPriorityTimeWeight": control.turns_per_waited_s,
            **({"evictionTtlSeconds": affinity.forget_after_s} if affinity else {}),
        },
    )


def _section(spec: StackSpec, control: FlowControl, fairness: Plugin) -> dict[str, Any]:
    size = f"{(spec.derived.queue_bytes or 0) // GIB}Gi"
    bands = sorted(control.bands.values(), key=lambda band: -band.priority)
    return {
        "maxBytes": size,
        "defaultRequestTTL": f"{max(band.longest_wait_s for band in bands)}s",
        "saturationDetector": {"pluginRef": _DETECTOR},
        "priorityBands": [_band(spec, band, fairness, share=len(bands)) for band in bands],
    }


def _band(spec: StackSpec, band: Band, fairness: Plugin, *, share: int) -> dict[str, Any]:
    own_wait = {"defaultRequestTTL": f"{band.longest_wait_s}s"} if llmd_release(spec).plugins.wait_per_band else {}
    return {
        "priority": band.priority,
        "maxBytes": str((spec.derived.queue_bytes or 0) // share),
        **own_wait,
        "fairnessPolicyRef": fairness.reference,
        "orderingPolicyRef": _BY_ARRIVAL,
    }
