"""Built-in kinds by Kubernetes' own schemas, custom resources by ours, and nothing unseen."""

from __future__ import annotations

from typing import Any

import pytest

from beamline.checks import graph_problems
from beamline.checks.kubernetes_schemas import schema_problems
from beamline.engine.values import UNKNOWN, Secret
from policies.objects import registered_objects
from stacks.problems import EnvironmentProblem, Problem, to_text
from tests.policies.graphs import graph_of, registered, sound, sound_bodies, with_values

FOUND: dict[str, tuple[dict[str, Any], list[tuple[str, str, Any, str]]]] = {
    "a misspelt field": (
        {"Deployment.spec.template.spec.containers.0.resouces": {}},
        [
            (
                "kubernetes-schema",
                "Deployment/engine.spec.template.spec.containers[0].resouces",
                None,
                "the API server does not know 'resouces' here; did you mean 'resources'?",
            )
        ],
    ),
    "a number written as text": (
        {"Deployment.spec.replicas": "2"},
        [
            (
                "kubernetes-schema",
                "Deployment/engine.spec.replicas",
                "2",
                "the API server would refuse this: '2' is not of type 'integer', 'null'",
            )
        ],
    ),
    "a label that is a number": (
        {"Service.metadata.labels": {"tier": 1}},
        [
            (
                "kubernetes-schema",
                "Service/router.metadata.labels.tier",
                1,
                "the API server would refuse this: 1 is not of type 'string', 'null'",
            )
        ],
    ),
    "a missing field": (
        {"Service.spec.ports.0": {"name": "grpc", "targetPort": "http"}},
        [
            (
                "kubernetes-schema",
                "Service/router.spec.ports[0]",
                None,
                "the API server would refuse this: 'port' is a required property",
            )
        ],
    ),
    "a misspelt field of a custom resource": (
        {"InferencePool.spec.targetPort": 8000},
        [("crd-schema", "InferencePool/qwen.spec.targetPort", None, "unknown field: targetPort")],
    ),
    "a custom resource of a version that is not served": (
        {"InferencePool.apiVersion": "inference.networking.k8s.io/v1alpha2"},
        [
            (
                "kubernetes-kind",
                "InferencePool/qwen",
                "inference.networking.k8s.io/v1alpha2 InferencePool",
                "neither Kubernetes 1.35 nor a schema of this kit has this kind; nothing can judge it before an apply",
            )
        ],
    ),
    "a built-in kind of a version that is gone": (
        {"PodDisruptionBudget.apiVersion": "policy/v1beta1"},
        [
            (
                "kubernetes-kind",
                "PodDisruptionBudget/engine",
                "policy/v1beta1 PodDisruptionBudget",
                "neither Kubernetes 1.35 nor a schema of this kit has this kind; nothing can judge it before an apply",
            )
        ],
    ),
}


def _problems(values: dict[str, Any], minor: str = "1.35") -> list[Problem]:
    return schema_problems(registered_objects(with_values(values)), minor)


@pytest.mark.parametrize("name", FOUND)
def test_fault_is_found_alone(name: str) -> None:
    values, found = FOUND[name]
    assert [(p.rule, p.path, p.value, p.why) for p in _problems(values)] == found


def test_the_sound_stack_passes() -> None:
    assert to_text(_problems({})) == ""
    assert to_text(graph_problems(sound(), "1.35.8-gke.1036000")) == ""


def test_all_faults_of_an_object_are_found_together() -> None:
    values = {"Deployment.spec.replicas": "2", "Deployment.spec.paused": "no", "Service.spec.ports.0.port": "http"}
    assert [p.path for p in _problems(values)] == [
        "Deployment/engine.spec.paused",
        "Deployment/engine.spec.replicas",
        "Service/router.spec.ports[0].port",
    ]


def test_a_problem_says_everything() -> None:
    (problem,) = _problems({"Service.spec.ports.0.protocl": "TCP"})
    assert to_text([problem]) == (
        "error[kubernetes-schema] Service/router.spec.ports[0].protocl\n"
        "  why:     the API server does not know 'protocl' here; did you mean 'protocol'?\n"
        "  allowed: appProtocol, name, nodePort, port, protocol, targetPort\n"
        "  remedy:  rename it to 'protocol'\n"
        f"  where:   {registered(sound_bodies()['Service']).urn}\n"
        "  source:  schema of Service v1, Kubernetes 1.35"
    )


@pytest.mark.parametrize("value", [UNKNOWN, Secret(3), Secret("three")], ids=["unknown", "secret", "wrong and secret"])
def test_what_a_plan_cannot_know_is_let_through_and_never_shown(value: Any) -> None:
    bodies = sound_bodies()
    bodies["Deployment"]["spec"]["replicas"] = value
    bodies["InferencePool"]["spec"]["targetPorts"][0]["number"] = value
    assert schema_problems(registered_objects(graph_of(bodies)), "1.35") == []


def test_the_minor_version_decides() -> None:
    """A field of Kubernetes 1.35 is unknown to 1.25."""
    values = {"Deployment.spec.template.spec.resources": {"requests": {"cpu": "4"}}}
    assert [_problems(values, minor) == [] for minor in ("1.25", "1.35")] == [False, True]


def test_a_version_without_schemas_is_trouble_with_the_machine() -> None:
    with pytest.raises(EnvironmentProblem, match=r"has no schemas of Kubernetes 1\.99"):
        _problems({}, "1.99")
