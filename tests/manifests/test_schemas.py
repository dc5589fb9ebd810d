"""Kubernetes' own schemas take every built-in object, the kit's strict ones every custom resource."""

from __future__ import annotations

import copy
from typing import Any

import kubernetes_validate
import pytest

from beamline.crds import find, problems
from manifests import render

from .cases import EVERY, spec_of

KUBERNETES = "1.35"
BUILT_IN = {
    "",
    "apiextensions.k8s.io",
    "apps",
    "autoscaling",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
}
"""API groups that kubernetes-validate judges."""


def complaints(body: dict[str, Any]) -> list[str]:
    """Return what is wrong with one object, by whichever schema knows its kind."""
    if find(body["apiVersion"], body["kind"]) is not None:
        return [f"{p.path}: {p.why}" for p in problems(body)]
    try:
        kubernetes_validate.validate(body, KUBERNETES, strict=True)
    except kubernetes_validate.ValidationError as error:
        return [error.message]
    return []


@pytest.mark.parametrize("case", EVERY)
def test_every_object_fits_its_schema(case: str) -> None:
    assert [c for item in render(spec_of(case)) for c in complaints(dict(item.body))] == []


@pytest.mark.parametrize("case", EVERY)
def test_every_custom_resource_has_a_schema_here(case: str) -> None:
    """An object nobody judges would pass the test above."""
    custom = {(o.body["apiVersion"], o.body["kind"]) for o in render(spec_of(case)) if _is_custom(o.body["apiVersion"])}
    assert {kind for version, kind in custom if find(version, kind) is None} == set()


def _is_custom(api_version: str) -> bool:
    return api_version.rpartition("/")[0] not in BUILT_IN


WRONG = {
    "misspelt field of a built-in kind": ("Deployment", ("spec", "template", "spec", "nodeSelectors"), {}),
    "number where a quantity is text": ("Deployment", ("spec", "replicas"), "two"),
    "unknown field of a custom resource": ("InferencePool", ("spec", "extensionRef"), {}),
    "duration without its unit": ("PodMonitoring", ("spec", "endpoints"), [{"port": "http", "interval": "15"}]),
    "value outside the enum": ("InferencePool", ("spec", "endpointPickerRef", "failureMode"), "FailClosed"),
    "misspelt field of a group": (
        "LeaderWorkerSet",
        ("spec", "leaderWorkerTemplate", "restartPolicies"),
        "RecreateGroupOnPodRestart",
    ),
    "misspelt field of a group's pods": (
        "LeaderWorkerSet",
        ("spec", "leaderWorkerTemplate", "workerTemplate", "spec", "resourceClaim"),
        [],
    ),
    "unknown allocation of channels": ("ComputeDomain", ("spec", "channel", "allocationMode"), "Both"),
    "missing target": ("GCPBackendPolicy", ("spec", "targetRef"), {"kind": "InferencePool", "name": "engine"}),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_is_found(mistake: str) -> None:
    kind, path, value = WRONG[mistake]
    everything = [o.body for case in ("g4-llmd", "a4x-max-llmd") for o in render(spec_of(case))]
    body = copy.deepcopy(next(dict(b) for b in everything if b["kind"] == kind))
    place = body
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert len(complaints(body)) == 1
