"""The rules read what the components really register: each alteration of a shipped stack's own graph is found."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from beamline.cli.planning import plan_stack
from beamline.cli.selection import select
from beamline.engine.graph import Graph
from policies import rule_problems
from stacks import to_text


@pytest.fixture(scope="module")
def shipped() -> Graph:
    graph = plan_stack(select("g4")).graph
    assert graph is not None
    return graph


Alteration = Callable[[dict[str, Any]], object]


def _pod(inputs: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = inputs["spec"]["template"]["spec"]
    return spec


def _engine(inputs: dict[str, Any]) -> dict[str, Any]:
    container: dict[str, Any] = _pod(inputs)["containers"][0]
    return container


ALTERATIONS: dict[str, tuple[str, str, Alteration, set[str]]] = {
    "a toleration removed": ("Deployment", "engine", lambda i: _pod(i).pop("tolerations"), {"pod-tolerates-no-pool"}),
    "nine GPUs": (
        "Deployment",
        "engine",
        lambda i: _engine(i)["resources"]["limits"].update({"nvidia.com/gpu": "9"}),
        {"pod-fits-no-node"},
    ),
    "more memory than a node": (
        "Deployment",
        "engine",
        lambda i: _engine(i)["resources"]["requests"].update(memory="2Ti"),
        {"pod-fits-no-node"},
    ),
    "a Service selector that matches nothing": (
        "Service",
        "router",
        lambda i: i["spec"].update(selector={"app": "nothing"}),
        {"selector-matches-nothing"},
    ),
    "a pool selector that matches nothing": (
        "InferencePool",
        "",
        lambda i: i["spec"]["selector"].update(matchLabels={"app": "nothing"}),
        {"selector-matches-nothing"},
    ),
    "another target port": (
        "InferencePool",
        "",
        lambda i: i["spec"]["targetPorts"][0].update(number=8001),
        {"port-not-declared"},
    ),
    "another ConfigMap name": ("ConfigMap", "router", lambda i: i["metadata"].update(name="x"), {"reference-missing"}),
    "a service account gone astray": (
        "ServiceAccount",
        "engine",
        lambda i: i["metadata"].update(name="x"),
        {"reference-missing"},
    ),
    "an image without a tag": ("Deployment", "router", lambda i: _engine(i).update(image="x"), {"moving-image-tag"}),
    "a namespace of another name": (
        "Namespace",
        "engine",
        lambda i: i["metadata"].update(name="x"),
        {"namespace-missing", "namespace-not-closed"},
    ),
}


@pytest.mark.parametrize("name", ALTERATIONS)
def test_an_alteration_is_found(name: str, shipped: Graph) -> None:
    kind, part, alter, rules = ALTERATIONS[name]
    assert {problem.rule for problem in rule_problems(_altered(shipped, kind, part, alter))} == rules


def test_the_shipped_stack_passes(shipped: Graph) -> None:
    assert to_text(rule_problems(shipped)) == ""


def _altered(graph: Graph, kind: str, part: str, alter: Alteration) -> Graph:
    """Return the graph with the one resource of ``kind`` altered whose name contains ``part``."""
    (target,) = [r for r in graph.resources if r.type.endswith(f":{kind}") and r.inputs.get("kind") and part in r.name]
    inputs = copy.deepcopy(dict(target.inputs))
    alter(inputs)
    resources = tuple(replace(r, inputs=inputs) if r is target else r for r in graph.resources)
    return replace(graph, resources=resources)
