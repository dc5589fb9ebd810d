"""Inputs against the SDKs' own types: each mistake is named with its place, and nothing correct is refused."""

from __future__ import annotations

from typing import Any

import pytest

from beamline.checks.sdk_inputs import sdk_input_problems
from beamline.engine import UNKNOWN, Graph, Resource, Secret

POOL = "gcp:container/nodePool:NodePool"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
SERVICE = "kubernetes:core/v1:Service"
DEFINITION = "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition"


def found(type_token: str, inputs: dict[str, Any]) -> list[tuple[str, str]]:
    """Return path and reason of every problem of one resource called ``r``."""
    resource = Resource(urn="urn", type=type_token, name="r", inputs=inputs, version="1.0")
    return [(p.path, p.why) for p in sdk_input_problems(Graph(resources=(resource,), outputs={}))]


def deployment(container: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [container]}}
    return {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}}


WRONG = {
    "misspelt key": (
        POOL,
        {"cluster": "c", "nodeConfig": {"machineTyp": "g4-standard-384"}},
        [("r.nodeConfig.machineTyp", "the SDK knows no such input; did you mean 'machineType'?")],
    ),
    "Python's name of a key": (
        POOL,
        {"cluster": "c", "node_count": 1},
        [("r.node_count", "the SDK knows no such input; did you mean 'nodeCount'?")],
    ),
    "number as text": (
        POOL,
        {"cluster": "c", "nodeConfig": {"diskSizeGb": "200"}},
        [("r.nodeConfig.diskSizeGb", "a whole number belongs here")],
    ),
    "fraction for a count": (
        POOL,
        {"cluster": "c", "nodeCount": 1.5},
        [("r.nodeCount", "a whole number belongs here")],
    ),
    "text as number": (POOL, {"cluster": 5}, [("r.cluster", "text belongs here")]),
    "boolean as number": (POOL, {"cluster": "c", "nodeCount": True}, [("r.nodeCount", "a whole number belongs here")]),
    "text for a boolean": (
        POOL,
        {"cluster": "c", "management": {"autoRepair": "true"}},
        [("r.management.autoRepair", "true or false belongs here")],
    ),
    "one for a list": (
        POOL,
        {"cluster": "c", "nodeLocations": "us-central1-b"},
        [("r.nodeLocations", "a list belongs here")],
    ),
    "deep in a list": (
        POOL,
        {"cluster": "c", "nodeConfig": {"guestAccelerators": [{"type": "t", "count": "8"}]}},
        [("r.nodeConfig.guestAccelerators[0].count", "a whole number belongs here")],
    ),
    "value of a map": (
        POOL,
        {"cluster": "c", "nodeConfig": {"labels": {"a": 1}}},
        [("r.nodeConfig.labels.a", "text belongs here")],
    ),
    "text for an object": (POOL, {"cluster": "c", "nodeConfig": "x"}, [("r.nodeConfig", "an object belongs here")]),
    "missing": (POOL, {}, [("r.cluster", "this input is required and missing")]),
    "missing inside": (
        POOL,
        {"cluster": "c", "nodeConfig": {"guestAccelerators": [{"type": "t"}]}},
        [("r.nodeConfig.guestAccelerators[0].count", "this input is required and missing")],
    ),
    "inside a secret": (POOL, {"cluster": Secret(5)}, [("r.cluster", "text belongs here")]),
    "other API version": (
        DEPLOYMENT,
        {"apiVersion": "apps/v2", **deployment({"name": "c"})},
        [("r.apiVersion", "the SDK's type has one fixed value here")],
    ),
    "misspelt key of an object": (
        DEPLOYMENT,
        deployment({"name": "c", "imag": "x"}),
        [("r.spec.template.spec.containers[0].imag", "the SDK knows no such input; did you mean 'image'?")],
    ),
    "neither number nor text": (
        SERVICE,
        {"spec": {"ports": [{"port": 80, "targetPort": ["http"]}]}},
        [("r.spec.ports[0].targetPort", "a whole number or text belongs here")],
    ),
    "several": (
        POOL,
        {"nodeCount": "1"},
        [("r.nodeCount", "a whole number belongs here"), ("r.cluster", "this input is required and missing")],
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong(case: str) -> None:
    type_token, inputs, expected = WRONG[case]
    assert found(type_token, inputs) == expected


SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer", "minimum": 1, "default": 3}},
    "x-kubernetes-preserve-unknown-fields": True,
}
VERSION = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
NAMES = {"kind": "K", "plural": "ks"}
PORTS = [{"port": 80, "targetPort": 8000}, {"port": 81, "targetPort": "http"}]

RIGHT = {
    "unknown": (POOL, {"cluster": UNKNOWN, "nodeConfig": {"serviceAccount": UNKNOWN}}),
    "secret": (POOL, {"cluster": Secret("c")}),
    "whole number for a fraction, and Kubernetes' extensions": (
        DEFINITION,
        {"spec": {"group": "g", "names": NAMES, "scope": "Namespaced", "versions": [VERSION]}},
    ),
    "number or text": (SERVICE, {"spec": {"ports": PORTS}}),
    "custom resource": ("kubernetes:example.com/v1:Odd", {"anything": 1}),
    "provider": ("pulumi:providers:gcp", {"project": 1}),
}


@pytest.mark.parametrize("case", RIGHT)
def test_right(case: str) -> None:
    type_token, inputs = RIGHT[case]
    assert found(type_token, inputs) == []
