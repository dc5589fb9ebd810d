"""An interrupted create that left something is entered into the engine's state; one that did not is forgotten."""

from __future__ import annotations

from typing import Any

import pytest

from beamline.sandbox.recovery import Existing, Resource, adopted, same_resource


def _state(*pending: tuple[str, str]) -> dict[str, Any]:
    operations = [
        {"type": operation, "resource": {"urn": f"urn::{name}", "type": "t", "inputs": {"name": name}}}
        for operation, name in pending
    ]
    return {"version": 3, "deployment": {"resources": [{"urn": "urn::a", "id": "a"}], "pending_operations": operations}}


def test_only_creates_that_left_something_are_adopted() -> None:
    def find(resource: Resource) -> Existing | None:
        name = resource["inputs"]["name"]
        return None if name == "never-made" else Existing(f"id-{name}", {"name": name, "found": True})

    state = _state(("creating", "made"), ("creating", "never-made"), ("updating", "a"), ("deleting", "a"))
    assert adopted(state, find) == {
        "version": 3,
        "deployment": {
            "resources": [
                {"urn": "urn::a", "id": "a"},
                {
                    "urn": "urn::made",
                    "type": "t",
                    "inputs": {"name": "made"},
                    "id": "id-made",
                    "outputs": {"name": "made", "found": True},
                },
            ],
            "pending_operations": [],
        },
    }


@pytest.mark.parametrize(
    ("asked", "entered", "want"),
    [
        ({"name": "n", "location": "z"}, {"name": "n", "location": "z", "id": 7}, True),
        ({"name": "n", "location": "z"}, {"name": "n", "location": "y"}, False),
        ({"name": "n", "config": {"a": 1}}, {"name": "n", "config": {"a": 2}}, True),
        ({"config": {"a": 1}}, {"config": {"a": 1}}, False),
        ({}, {"name": "n"}, False),
    ],
    ids=["same", "elsewhere", "nested values do not count", "nothing plain to compare", "nothing asked"],
)
def test_same_resource(asked: dict[str, Any], entered: dict[str, Any], *, want: bool) -> None:
    assert same_resource(asked, entered) is want
