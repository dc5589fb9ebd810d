"""Objects of any shape are read without a crash: what a shape may be is the schemas' business."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from beamline.engine.values import UNKNOWN, Secret
from policies import rule_problems
from tests.policies.graphs import graph_of, sound_bodies

WRONG = {
    "text": "x",
    "number": 3,
    "list": ["x"],
    "section": {"x": "y"},
    "null": None,
    "unknown": UNKNOWN,
    "secret": Secret("x"),
}


def _places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from _places(value, (*path, key))


@pytest.mark.parametrize("name", WRONG)
def test_no_rule_crashes(name: str) -> None:
    identity = {"apiVersion", "kind", "metadata"}
    for path in _places(sound_bodies()):
        if len(path) < 2 or (path[1] in identity and len(path) < 4 and path[-1] != "labels"):
            continue
        bodies = sound_bodies()
        place: Any = bodies
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = WRONG[name]
        rule_problems(graph_of(bodies))
