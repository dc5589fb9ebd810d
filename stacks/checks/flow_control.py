"""Flow control, whichever router does it: a known order, a band for every request, waits within it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from stacks.checks.candidate import Candidate, about
from stacks.problems import Problem
from stacks.rows import LlmdRelease
from stacks.wording import some

__all__ = ["CHECKS"]

_IN_VAIN = {
    "turn_priority": "its router does not order by how deep a session is",
    "shortest_uncached": "its router does not know what of a prompt is left to compute",
}


@about("serving.router.kind", "serving.router.release")
def order(c: Candidate) -> Iterator[Problem]:
    """Each release knows some orders; another one stops it at start."""
    flow, release = c.preset.serving.routing.flow_control, c.rows.release
    if flow is None or flow.order in release.flow.words:
        return
    yield Problem(
        rule="flow-control-order",
        path="serving.routing.flow_control.order",
        value=flow.order,
        why=f"{release.kind} {release.version} has no such order and refuses the configuration: {_IN_VAIN[flow.order]}",
        allowed=", ".join(release.flow.words),
        remedy="choose an allowed order, or a release that knows it, in serving.router",
        source=release.flow.source,
    )


@about("serving.router.kind")
def bands(c: Candidate) -> Iterator[Problem]:
    """Requests that name no band are in the one of priority 0; to llm-d a priority is one band."""
    flow, path = c.preset.serving.routing.flow_control, "serving.routing.flow_control.bands"
    if flow is None:
        return
    priorities = Counter(band.priority for band in flow.bands.values())
    if 0 not in priorities:
        yield Problem(
            rule="band-of-zero",
            path=path,
            value=sorted(priorities),
            why="requests that name no band have priority 0, and nothing says how long they may wait",
            allowed="bands of which one has priority 0",
            remedy="add one: {priority: 0, longest_wait_s: ...}",
            source="llm-d-router v0.10.0, InferenceObjective: priority unset is 0; Dynamo 1.6.1, router policy file: "
            "default_policy_family",
        )
    llmd = isinstance(c.rows.release, LlmdRelease)
    for priority, number in priorities.items():
        if number > 1 and (llmd or priority == 0):
            yield Problem(
                rule="band-twice",
                path=path,
                value=priority,
                why=f"{some(number, 'band')} have priority {priority}, and "
                + ("a priority is one queue with one order" if llmd else "requests that name no band are in one"),
                allowed="another priority for each",
                remedy="change or remove one of them",
                source="llm-d-router v0.10.0, flowControl.priorityBands; Dynamo 1.6.1, router policy file: "
                "default_policy_family names one family",
            )


def waits(c: Candidate) -> Iterator[Problem]:
    """A wait is a part of the request: whoever orders the queue, the load balancer ends both together."""
    flow, longest = c.preset.serving.routing.flow_control, c.preset.serving.longest_request_s
    for name, band in flow.bands.items() if flow else ():
        if band.longest_wait_s >= longest:
            yield Problem(
                rule="waits-too-long",
                path=f"serving.routing.flow_control.bands.{name}.longest_wait_s",
                value=band.longest_wait_s,
                why=f"after {longest} s the load balancer ends a request, waiting included: it would be cut off before "
                "it is refused, and its client cannot tell why",
                allowed=f"less than {longest}",
                remedy="lower it, or raise serving.longest_request_s",
                source="GKE docs, GCPBackendPolicy timeoutSec: the whole request, from its first byte",
            )


@about("serving.router.kind", "serving.router.release")
def turn_weight(c: Candidate) -> Iterator[Problem]:
    """What waiting is worth belongs to the one order that weighs it; releases differ in the default."""
    flow = c.preset.serving.routing.flow_control
    if flow is None or flow.order not in c.rows.release.flow.words:
        return
    weight, path = flow.turns_per_waited_s, "serving.routing.flow_control.turns_per_waited_s"
    if (weight is None) == (flow.order == "turn_priority"):
        yield Problem(
            rule="turns-per-waited",
            path=path,
            value=weight,
            why="releases of the picker differ tenfold in what they take where nothing is said"
            if weight is None
            else "only turn_priority weighs waiting against depth, so this would do nothing",
            allowed="a number of turns" if weight is None else "null",
            remedy="set it; 0.5 with a wait of 60 seconds lets a newcomer overtake 30 turns"
            if weight is None
            else "leave it out, or set order to turn_priority",
            source="llm-d/llm-d-router#2116: turnPriorityTimeWeight, 0.05 or 0.5",
        )


CHECKS = (order, bands, waits, turn_weight)
