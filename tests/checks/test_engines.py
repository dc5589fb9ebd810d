"""Engines' flags and variables: each mistake is found alone, its good twin passes, and every preset passes whole."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from beamline.checks.engines import engine_problems
from beamline.engine.graph import Graph
from beamline.engine.values import UNKNOWN, Secret
from manifests import render
from stacks.problems import Problem, to_text
from tests.manifests.cases import EVERY, spec_of
from tests.policies.graphs import graph_of, registered, sound_bodies

_FILE: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("engine_cases.yaml").read_text())
CASES: list[dict[str, Any]] = _FILE["cases"]


def _graph(case: dict[str, Any]) -> Graph:
    """The sound stack, its engine's container run as the case says."""
    bodies = copy.deepcopy(sound_bodies())
    program = _FILE["programs"][case["program"]]
    pod = bodies["Deployment"]["spec"]["template"]["spec"]
    container = pod["containers"][0]
    container["image"] = case.get("image", program["image"])
    words = [word for word in program["args"] if word not in case.get("without", [])]
    container["command"] = case.get("run", program["command"])
    container["args"] = [] if "run" in case else [*words, *case.get("words", [])]
    container["env"] = [{"name": name, "value": value} for name, value in case.get("env", {}).items()]
    pod |= case.get("pod", {})
    if "service" in case:
        bodies["Service"]["metadata"]["name"] = case["service"]
    return graph_of(bodies)


def _said(problems: list[Problem]) -> list[tuple[str, str]]:
    return [(problem.rule, problem.why) for problem in problems]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_fault_is_found_alone_and_its_good_twin_passes(case: dict[str, Any]) -> None:
    found = engine_problems(_graph(case))
    assert len(found) == len(case["found"]), to_text(found)
    for (rule, why), (wanted, part) in zip(_said(found), case["found"], strict=True):
        assert rule == wanted
        assert part in why
    if "good" in case:
        assert to_text(engine_problems(_graph({**case, **case["good"]}))) == ""


def test_a_problem_says_everything() -> None:
    (problem,) = engine_problems(_graph({"program": "vllm", "words": ["--scheduling-policy=priorty"]}))
    assert to_text([problem]) == (
        "error[engine-flag-value] Deployment/engine.spec.template.spec.containers[0].args[4] = priorty\n"
        "  why:     --scheduling-policy does not take 'priorty'; did you mean 'priority'?\n"
        "  allowed: fcfs, priority\n"
        "  remedy:  write 'priority'\n"
        f"  where:   {registered(sound_bodies()['Deployment']).urn}\n"
        "  source:  stacks/catalog/engine_flags/vllm-0.33.0.json"
    )


@pytest.mark.parametrize("case", EVERY)
def test_every_preset_and_feature_passes(case: str) -> None:
    bodies = [registered(dict(item.body)) for item in render(spec_of(case))]
    assert to_text(engine_problems(Graph(resources=tuple(bodies), outputs={}))) == ""


@pytest.mark.parametrize("value", [UNKNOWN, Secret("--no-such-flag")], ids=["unknown", "secret"])
def test_what_a_plan_cannot_know_is_let_through_and_never_shown(value: Any) -> None:
    bodies = copy.deepcopy(sound_bodies())
    container = bodies["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    container |= {"command": ["vllm", "serve"], "args": ["/weights/beam", "--max-num-seqs", value, value]}
    assert to_text(engine_problems(graph_of(bodies))) == ""
