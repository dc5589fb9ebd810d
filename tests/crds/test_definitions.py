"""The CustomResourceDefinition files are what the API server and the docs take them for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from beamline.crds import (
    Definition,
    all_definitions,
    find,
    installed_by_chart,
    installed_by_charts,
    installed_by_gke,
    installed_by_kit,
)

from .samples import GOOD


def schemas_in(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for key, inner in schema.get("properties", {}).items():
        yield from schemas_in(inner, f"{path}.{key}")
    if "items" in schema:
        yield from schemas_in(schema["items"], f"{path}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from schemas_in(schema["additionalProperties"], f"{path}{{}}")


def names_in(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from names_in(inner)


def test_who_installs_what() -> None:
    assert {d.name for d in installed_by_gke()} == {
        "autoscalingmetrics.autoscaling.gke.io",
        "clusterpodmonitorings.monitoring.googleapis.com",
        "gatewayclasses.gateway.networking.k8s.io",
        "gateways.gateway.networking.k8s.io",
        "gcpbackendpolicies.networking.gke.io",
        "gcpgatewaypolicies.networking.gke.io",
        "healthcheckpolicies.networking.gke.io",
        "httproutes.gateway.networking.k8s.io",
        "inferencepools.inference.networking.k8s.io",
        "podmonitorings.monitoring.googleapis.com",
        "rules.monitoring.googleapis.com",
        "secretproviderclasses.secrets-store.csi.x-k8s.io",
    }
    assert {d.name for d in installed_by_kit()} == {"inferencemodelrewrites.llm-d.ai", "inferenceobjectives.llm-d.ai"}
    by_chart = {
        "dra-driver-nvidia-gpu": "computedomains.resource.nvidia.com",
        "dynamo-platform": "dynamographdeployments.nvidia.com",
        "lws": "leaderworkersets.leaderworkerset.x-k8s.io",
    }
    assert {name: [d.name for d in installed_by_chart(name)] for name in by_chart} == {
        name: [kind] for name, kind in by_chart.items()
    }
    assert {d.name for d in installed_by_charts()} == set(by_chart.values())


@pytest.mark.parametrize("definition", all_definitions(), ids=lambda d: d.name)
def test_strict_and_structural(definition: Definition) -> None:
    """No field is open, every field has a type, and nothing is kept that the schema does not name."""
    assert definition.name == f"{definition.plural}.{definition.group}"
    for version in definition.manifest["spec"]["versions"]:
        for path, schema in schemas_in(version["schema"]["openAPIV3Schema"]):
            assert "x-kubernetes-preserve-unknown-fields" not in schema, path
            assert "x-kubernetes-embedded-resource" not in schema, path
            assert schema.get("type") or schema.get("x-kubernetes-int-or-string"), path
            if schema.get("type") == "object" and path != ".metadata":
                assert "properties" in schema or "additionalProperties" in schema, path


def test_the_samples_set_every_field() -> None:
    """Otherwise a field could be misspelt in a schema without a test noticing."""
    used = {name for sample in GOOD.values() for name in names_in(sample["spec"])}
    for definition in all_definitions():
        (version,) = (v["name"] for v in definition.manifest["spec"]["versions"])
        spec = (definition.schema(version) or {})["properties"]["spec"]
        named = {name for _, schema in schemas_in(spec) for name in schema.get("properties", {})}
        assert sorted(named - used) == [], definition.name


def test_find_knows_group_version_and_kind() -> None:
    assert find("inference.networking.k8s.io/v1", "InferencePool") is not None
    assert find("inference.networking.x-k8s.io/v1alpha2", "InferencePool") is None
    assert find("inference.networking.k8s.io/v1alpha2", "InferencePool") is None
    assert find("v1", "Pod") is None
