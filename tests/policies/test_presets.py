"""Every preset passes every rule, and what the table of rights allows is what some stack really uses."""

from __future__ import annotations

import pytest

from policies import rule_problems
from policies.objects import registered_objects
from policies.rights import accounts, grants
from stacks import to_text
from tests.components.plans import PRESETS, plan
from tests.shipped import SHIPPED

_TOKEN = {"model": {"weights": {"token_secret": "hub-token"}}}
_RDMA = {"serving": {"transport": {"name": "nvlink+rdma"}}}
_SCALED = {
    "cluster": {"release_channel": "RAPID"},
    "serving": {"scaling": {"least_replicas": 1, "running_share": 0.7}},
}
_KEY = {"cluster": {"encryption_key": "projects/acme/locations/us-central1/keyRings/r/cryptoKeys/k"}}
_MIRROR = "us-central1-docker.pkg.dev/acme/images"


@pytest.mark.parametrize("preset", SHIPPED)
def test_every_preset_passes(preset: str) -> None:
    assert to_text(rule_problems(plan(preset))) == ""


def test_a_stack_with_rdma_one_that_is_scaled_and_one_with_a_mirror_and_a_token_pass() -> None:
    rdma = plan("a4x-max-llmd", overrides=_RDMA, accept_unverified=["transport:nvlink+rdma"])
    mirrored = plan("small-l4", overrides={**_TOKEN, **_KEY}, mirror=_MIRROR)
    scaled = plan("g4-llmd-multi", overrides=_SCALED, accept_unverified=["scaling:hpa"])
    assert [to_text(rule_problems(graph)) for graph in (rdma, scaled, mirrored)] == ["", "", ""]


def test_no_right_is_listed_that_no_stack_uses() -> None:
    graphs = [*(plan(preset) for preset in PRESETS), plan("small-l4", overrides={**_TOKEN, **_KEY}, mirror=_MIRROR)]
    resources = [resource for graph in graphs for resource in graph.resources]
    assert {(g.type, g.role) for g in grants()} == {
        (r.type, r.inputs["role"])
        for r in resources
        if (r.type, r.inputs.get("role")) in {(g.type, g.role) for g in grants()}
    }
    roles = [obj for graph in graphs for obj in registered_objects(graph) if obj.kind == "Role"]
    given = {
        (group, resource, verb)
        for role in roles
        for rule in role.at("rules")
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert given == {right for account in accounts().values() for right in account.rights}


def test_no_stack_has_a_cluster_wide_role_or_a_key() -> None:
    types = {resource.type for preset in PRESETS for resource in plan(preset).resources}
    assert [kind for kind in types if "ClusterRole" in kind or kind.endswith(":Key")] == []
