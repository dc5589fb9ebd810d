"""The vendors' own definitions took every custom resource that the kit renders: what changed since has no verdict."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from tests.crds.vendor_judge import NO_SCHEMA, VERDICTS, misspelt
from tests.crds.vendor_shapes import Body, bodies, key_of, shape

SAID: dict[str, Any] = yaml.safe_load(VERDICTS.read_text(encoding="utf-8"))
RESULTS = {(kind, each["sha256"]): each["result"] for kind, said in SAID.items() for each in said["verdicts"]}
UNKNOWN = {"autoscaling.gke.io/v1beta1 AutoscalingMetric"}
"""GKE's own, of which no definition is public."""


def _any(kind: str) -> Body:
    return next(group[0] for key, stacks in bodies().items() if key[0] == kind for group in stacks.values())


def test_every_custom_resource_was_judged_as_it_is_now() -> None:
    missing = {f"{key[0]} of {next(iter(stacks))}" for key, stacks in bodies().items() if key not in RESULTS}
    assert not missing, f"no verdict of the vendors' definitions; renew them by hand, see CONTRIBUTING.md: {missing}"


def test_no_verdict_is_left_of_what_is_no_longer_rendered() -> None:
    assert RESULTS.keys() <= bodies().keys()


def test_all_were_accepted_or_there_is_nothing_to_judge_by() -> None:
    assert {key: result for key, result in RESULTS.items() if result not in ("accepted", NO_SCHEMA)} == {}
    assert {kind for (kind, _), result in RESULTS.items() if result == NO_SCHEMA} == UNKNOWN


@pytest.mark.parametrize("kind", [kind for kind in SAID if kind not in UNKNOWN])
def test_the_same_definition_refuses_a_misspelt_field(kind: str) -> None:
    """Else that it accepts something would mean nothing."""
    definition, refusals = SAID[kind]["definition"], SAID[kind]["misspelt"]
    assert {"repository", "path", "commit", "as_of", "sha256"} <= definition.keys()
    assert refusals
    assert [text for text in refusals if "unknown field" not in text] == []


@pytest.mark.parametrize("kind", SAID)
def test_a_misspelt_field_has_no_verdict(kind: str) -> None:
    assert key_of(_any(kind)) in RESULTS
    assert key_of(misspelt(_any(kind))) not in RESULTS


def test_shapes_hide_texts_alone() -> None:
    """A flag, an image and a size may change under a verdict; a number for a text, or another field, may not."""
    graph = copy.deepcopy(dict(_any("nvidia.com/v1beta1 DynamoGraphDeployment")))
    pod = graph["spec"]["components"][-1]["podTemplate"]["spec"]
    container, before = pod["containers"][0], key_of(graph)
    container["args"] = [*container["args"], "--stream-interval=2"]
    container["image"] += "0"
    container["env"][0]["value"] = "another"
    container["resources"]["limits"]["memory"] = "1Gi"
    assert key_of(graph) == before
    for change in (
        {"args": [*container["args"], 2]},
        {"env": [{**container["env"][0], "value": 1}, *container["env"][1:]]},
        {"image": 7},
        {"resources": {**container["resources"], "limits": {"memory": 0.5}}},
        {"argss": []},
    ):
        changed = copy.deepcopy(graph)
        changed["spec"]["components"][-1]["podTemplate"]["spec"]["containers"][0] |= change
        assert key_of(changed) != before, change


def test_a_shape_does_not_change_what_it_is_of() -> None:
    body = _any("leaderworkerset.x-k8s.io/v1 LeaderWorkerSet")
    before = copy.deepcopy(body)
    shape(body)
    assert body == before
