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


def graph_of_case(case: dict[str, Any]) -> Graph:
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
    container["resources"]["limits"]["nvidia.com/gpu"] = str(case.get("gpus", program["gpus"]))
    pod |= case.get("pod", {})
    if "service" in case:
        bodies["Service"]["metadata"]["name"] = case["service"]
    return graph_of(bodies)


def _said(problems: list[Problem]) -> list[tuple[str, str]]:
    return [(problem.rule, problem.why) for problem in problems]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_fault_is_found_alone_and_its_good_twin_passes(case: dict[str, Any]) -> None:
    found = engine_problems(graph_of_case(case))
    assert len(found) == len(case["found"]), to_text(found)
    for (rule, why), (wanted, part) in zip(_said(found), case["found"], strict=True):
        assert rule == wanted
        assert part in why
    if "good" in case:
        assert to_text(engine_problems(graph_of_case({**case, **case["good"]}))) == ""


def test_a_problem_says_everything() -> None:
    (problem,) = engine_problems(graph_of_case({"program": "vllm", "words": ["--scheduling-policy=priorty"]}))
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


@pytest.mark.parametrize(
    ("preset", "kind", "path"),
    [
        ("a4x-max-llmd", "LeaderWorkerSet", "spec.leaderWorkerTemplate.size"),
        ("a4x-max-dynamo-bf16", "DynamoGraphDeployment", "spec.components.1.multinode.nodeCount"),
    ],
)
def test_ranks_are_those_of_all_pods_of_a_group(preset: str, kind: str, path: str) -> None:
    """Tensor parallel 8 over two pods of four GPUs is right, and over three it is not."""
    (body,) = (copy.deepcopy(dict(item.body)) for item in render(spec_of(preset)) if item.body["kind"] == kind)
    place: Any = body
    *way, last = path.split(".")
    for key in way:
        place = place[int(key) if key.isdigit() else key]
    assert place[last] == 2
    place[last] = 3
    problems = engine_problems(Graph(resources=(registered(body),), outputs={}))
    assert {problem.rule for problem in problems} == {"ranks-and-gpus"}
    assert "starts 8 ranks (" in problems[0].why
    assert "its 3 pods have 12 GPUs" in problems[0].why


@pytest.mark.parametrize("value", [UNKNOWN, Secret("--no-such-flag")], ids=["unknown", "secret"])
def test_what_a_plan_cannot_know_is_let_through_and_never_shown(value: Any) -> None:
    bodies = copy.deepcopy(sound_bodies())
    container = bodies["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    container |= {"command": ["vllm", "serve"], "args": ["/weights/beam", "--max-num-seqs", value, value]}
    assert to_text(engine_problems(graph_of(bodies))) == ""
