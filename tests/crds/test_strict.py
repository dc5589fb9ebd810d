"""A manifest is judged without a server as strict field validation would, except for the rules written in CEL."""

from __future__ import annotations

from typing import Any

import pytest

from beamline.crds import problems

from .samples import BAD, GOOD, broken, title


@pytest.mark.parametrize("name", GOOD)
def test_good_sample_is_accepted(name: str) -> None:
    assert problems(GOOD[name]) == []


@pytest.mark.parametrize("row", BAD, ids=title)
def test_bad_sample_is_refused(row: dict[str, Any]) -> None:
    found = problems(broken(row))
    assert bool(found) is row.get("offline", True)
    assert all(p.rule == "crd-schema" and p.severity == "error" and p.why and p.remedy for p in found)


def test_an_unknown_field_is_named_with_the_nearest_known_one() -> None:
    (problem,) = problems(broken({"of": "InferencePool/full", "at": "spec.endpointPickerReference", "set": {}}))
    assert problem.path == "InferencePool/full.spec.endpointPickerReference"
    assert problem.why == "unknown field: endpointPickerReference"
    assert problem.remedy == "Did you mean endpointPickerRef?"
    assert problem.source == "schema of inferencepools.inference.networking.k8s.io v1"


def test_every_mistake_is_reported() -> None:
    sample = broken({"of": "InferencePool/full", "at": "spec.targetPorts", "set": [{"number": 0}, {"port": 1}]})
    assert [p.path for p in problems(sample)] == [
        "InferencePool/full.spec.targetPorts[0].number",
        "InferencePool/full.spec.targetPorts[1]",
        "InferencePool/full.spec.targetPorts[1].port",
    ]


def test_other_kinds_are_left_alone() -> None:
    assert problems({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"x": 1}}) == []
