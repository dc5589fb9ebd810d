"""The kit's own program, planned in process: one graph per preset, made once per session."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from beamline.engine import Graph, Resource, run_program
from tests.shipped import BESIDE_LADDERS, accepted

CHECKOUT = Path(__file__).parents[2]
PRESETS = BESIDE_LADDERS
STACK = "dev"
PLACE = {
    "beamline:project": "your-project-id",
    "beamline:region": "us-central1",
    "beamline:zone": "us-central1-b",
}
RESERVATION = (
    "projects/your-project-id/reservations/your-reservation/reservationBlocks/your-block/"
    "reservationSubBlocks/your-sub-block"
)


def settings_of(preset: str, **settings: Any) -> dict[str, Any]:
    """Settings of a stack file with which a preset can be planned, and further ones."""
    own: dict[str, Any] = {"preset": preset, "accept_unverified": accepted(preset)}
    if preset.startswith("a4x-max"):
        own["reservation"] = RESERVATION
    return {**own, **settings}


def config_of(preset: str, **settings: Any) -> dict[str, Any]:
    """The ``config`` section of a stack file with these settings."""
    return {**PLACE, **{f"beamline:{key}": value for key, value in settings_of(preset, **settings).items()}}


def plan(preset: str, **settings: Any) -> Graph:
    """Plan a preset with further settings of the stack file."""
    return _plan(json.dumps(config_of(preset, **settings)))


@cache
def _plan(config: str) -> Graph:
    return run_program(CHECKOUT, project="beamline", stack=STACK, config=json.loads(config))


def named(graph: Graph, name: str) -> Resource:
    """Return the resource with this name."""
    (found,) = [resource for resource in graph.resources if resource.name == name]
    return found


def ancestors(graph: Graph, urn: str) -> set[str]:
    """Return all that stands before a resource: parent, dependencies, provider, and all that stands before these."""
    by_urn: Mapping[str, Resource] = {resource.urn: resource for resource in graph.resources}
    before: set[str] = set()
    open_urns = [urn]
    while open_urns:
        resource = by_urn[open_urns.pop()]
        found = {resource.parent, resource.provider, *resource.dependencies} - {""} - before
        before |= found
        open_urns += found
    return before
