"""Whichever judge finds fault with a secret value, none of them shows it."""

from __future__ import annotations

import json

from beamline.checks import graph_problems
from beamline.engine.values import Secret
from stacks import to_text
from tests.policies.graphs import PROVIDER, graph_of, resource, sound_bodies

WORD = "hunter2"


def test_a_wrong_secret_is_found_and_never_shown() -> None:
    bodies = sound_bodies()
    bodies["Deployment"]["spec"]["replicas"] = Secret(WORD)
    bodies["Deployment"]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = Secret({"a": [WORD]})
    bodies["InferencePool"]["spec"]["targetPorts"] = Secret(WORD)
    inputs = {"clusterIdentifier": Secret(WORD), "kubeconfig": Secret({"token": WORD})}
    found = graph_problems(
        graph_of(bodies, resource("pulumi:providers:kubernetes", "cluster", inputs, urn=PROVIDER)), "1.35.8-gke.1"
    )
    assert {problem.rule for problem in found} >= {"sdk-input", "cluster-identifier"}
    assert WORD not in to_text(found) + json.dumps([problem.to_json() for problem in found])
