"""`beamline check`: every kind of judge is asked, about every stack."""

from __future__ import annotations

import pytest

from beamline.cli import completion, planning
from tests.cli.command import run
from tests.policies.graphs import with_values
from tests.shipped import SHIPPED, accepted

FAULTS = {
    "sdk-input": {"Deployment.spec.template.spec.terminationGracePeriodSeconds": "thirty"},
    "kubernetes-schema": {"Service.spec.ports.0.protocl": "TCP"},
    "kubernetes-kind": {
        "Extra": {"apiVersion": "example.com/v1", "kind": "Anything", "metadata": {"name": "x", "namespace": "qwen"}}
    },
    "crd-schema": {"InferencePool.spec.targetPort": 8000},
    "selector-matches-nothing": {"PodMonitoring.spec.selector.matchLabels": {"app": "engin"}},
}


@pytest.mark.parametrize("rule", FAULTS)
def test_every_judge_is_asked(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "_graph", lambda *_: with_values(FAULTS[rule]))
    ran = run("check", "g4")
    assert ran.code == 1
    assert f"error[{rule}]" in ran.stdout


def test_a_sound_graph_passes_every_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "_graph", lambda *_: with_values({}))
    ran = run("check", "g4")
    assert (ran.code, "error[" in ran.stdout) == (0, False)


def test_all_stacks_are_checked_when_none_is_named() -> None:
    verdicts = run("check", "--json").json()["stacks"]
    assert [verdict["stack"] for verdict in verdicts] == completion.stack_names() != []


SAID_OF = {
    "a4x-max-dynamo-c1": {"tier-below-gpu-cache"},
    "a4x-max-llmd-c1": {"tier-below-gpu-cache"},
}
"""What is true of a rung all the same: on GB300 host DRAM is smaller than what GPU memory holds."""


@pytest.mark.parametrize("preset", SHIPPED)
def test_shipped_presets_pass(preset: str) -> None:
    """The judges find nothing in what the kit itself ships, but that some must be accepted as unverified first."""
    problems = run("check", preset, "--json").json()["stacks"][0]["problems"]
    rules = {problem["rule"] for problem in problems if problem["severity"] != "note"}
    assert rules == SAID_OF.get(preset, set()) | ({"unverified-feature"} if accepted(preset) else set())
