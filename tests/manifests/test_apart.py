"""Prefill and decode on engines of their own, behind llm-d's router."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from .cases import APART
from .cluster_objects import Objects, flag, objects_of

MAY_DIFFER = {"port", "kv-transfer-config"}
"""Flags by which prefill and decode may differ: with others they refuse each other's KV cache."""


def arguments(container: Any) -> dict[str, str]:
    return dict(argument.partition("=")[::2] for argument in container["args"])


def transfer(objects: Objects, role: str) -> dict[str, Any]:
    loaded: dict[str, Any] = flag(objects.container(f"engine-{role}"), "kv-transfer-config")
    return loaded


@pytest.mark.parametrize("case", APART)
def test_roles_differ_in_port_and_connector_alone(case: str) -> None:
    objects = objects_of(case)
    prefill, decode = (arguments(objects.container(f"engine-{role}")) for role in ("prefill", "decode"))
    assert {key for key in prefill if prefill[key] != decode.get(key)} == {f"--{name}" for name in MAY_DIFFER}
    assert prefill.keys() == decode.keys()
    images = {objects.container(f"engine-{role}")["image"] for role in ("prefill", "decode")}
    environments = [objects.container(f"engine-{role}")["env"] for role in ("prefill", "decode")]
    assert len(images) == 1
    assert environments[0] == environments[1]


def test_prefill_alone_has_the_tier_and_nixl_comes_first() -> None:
    objects = objects_of("apart")
    prefill, decode = transfer(objects, "prefill"), transfer(objects, "decode")
    assert (prefill["kv_connector"], prefill["kv_role"]) == ("MultiConnector", "kv_both")
    assert [part["kv_connector"] for part in prefill["kv_connector_extra_config"]["connectors"]] == [
        "NixlConnector",
        "OffloadingConnector",
    ]
    assert prefill["kv_connector_extra_config"]["connectors"][0]["kv_role"] == "kv_producer"
    assert (decode["kv_connector"], decode["kv_role"]) == ("NixlConnector", "kv_consumer")
    assert prefill["kv_load_failure_policy"] == decode["kv_load_failure_policy"] == "fail"
    limits = [objects.container(f"engine-{role}")["resources"]["limits"]["memory"] for role in ("prefill", "decode")]
    assert limits == ["480Gi", "98Gi"]


@pytest.mark.parametrize("case", APART)
def test_blocks_are_kept_for_a_minute_and_engines_say_their_own_address(case: str) -> None:
    objects = objects_of(case)
    for role in ("prefill", "decode"):
        found = transfer(objects, role)
        (nixl,) = (
            part
            for part in (found, *found["kv_connector_extra_config"].get("connectors", []))
            if part["kv_connector"] == "NixlConnector"
        )
        assert nixl["kv_connector_extra_config"]["kv_lease_duration"] >= 60
        (address,) = (
            entry["valueFrom"]["fieldRef"]["fieldPath"]
            for entry in objects.container(f"engine-{role}")["env"]
            if entry["name"] == "VLLM_NIXL_SIDE_CHANNEL_HOST"
        )
        assert address == "status.podIP"


def test_a_decode_engine_has_a_proxy_that_stays() -> None:
    objects = objects_of("apart")
    proxy = objects.proxy("engine-decode")
    assert proxy is not None
    assert objects.proxy("engine-prefill") is None
    assert proxy["args"] == ["--port=8000", "--model-server-port=8200", "--kv-connector=nixlv2", "--secure-proxy=false"]
    assert objects.pod("engine-decode")["initContainers"][-1] == proxy
    assert flag(objects.container("engine-decode"), "port") == "8200"
    assert flag(objects.container("engine-prefill"), "port") == "8000"


def test_only_the_pod_that_serves_has_the_proxy() -> None:
    objects = objects_of("apart-in-groups")
    assert objects.proxy("engine-decode") is not None
    assert objects.proxy("engine-decode-worker") is None


@pytest.mark.parametrize("case", APART)
def test_the_router_chooses_decode_and_then_prefill_by_their_labels(case: str) -> None:
    objects = objects_of(case)
    config = yaml.safe_load(objects.one("ConfigMap", "router-config")["data"]["config.yaml"])
    profiles = {p["name"]: [used["pluginRef"] for used in p["plugins"]] for p in config["schedulingProfiles"]}
    assert {name: plugins[0] for name, plugins in profiles.items()} == {
        "prefill": "prefill-filter",
        "decode": "decode-filter",
    }
    for workload in objects.workloads():
        name, labels = workload["metadata"]["name"], workload["spec"]["template"]["metadata"]["labels"]
        if name.startswith("engine-"):
            assert labels["llm-d.ai/role"] == name.split("-")[1]


def test_a_prompt_is_worth_it_always_or_from_a_number_of_tokens_on() -> None:
    deciders = {}
    for case in ("apart", "apart-in-groups"):
        config = yaml.safe_load(objects_of(case).one("ConfigMap", "router-config")["data"]["config.yaml"])
        deciders[case] = [p for p in config["plugins"] if p["type"].endswith("-pd-decider")]
    assert deciders == {
        "apart": [{"type": "prefix-based-pd-decider", "parameters": {"nonCachedTokens": 4096}}],
        "apart-in-groups": [{"type": "always-disagg-pd-decider"}],
    }


@pytest.mark.parametrize(
    ("case", "settings", "switched_on"),
    [
        ("apart", {"UCX_TLS": "cuda_copy,cuda_ipc,tcp"}, False),
        ("apart-in-groups", {"UCX_TLS": "cuda_copy,cuda_ipc,tcp", "UCX_CUDA_IPC_ENABLE_MNNVL": "y"}, True),
        ("apart-between-domains", {"UCX_TLS": "^tcp", "UCX_CUDA_IPC_ENABLE_MNNVL": "y"}, False),
    ],
)
def test_the_transport_says_how_blocks_go(case: str, settings: dict[str, str], switched_on: bool) -> None:
    engine = objects_of(case).container("engine-prefill")
    found = {entry["name"]: entry.get("value") for entry in engine["env"]}
    assert {name: found[name] for name in settings} == settings
    assert ("--enable-cumem-allocator" in engine["args"]) == switched_on


def test_each_role_has_a_budget_of_its_own() -> None:
    budgets = {b["metadata"]["name"]: b["spec"] for b in objects_of("apart").kind("PodDisruptionBudget")}
    assert budgets.keys() == {"engine-decode"}  # of one prefill replica a drain may take that one
    assert budgets["engine-decode"]["selector"]["matchLabels"]["llm-d.ai/role"] == "decode"


def test_decode_pods_reach_prefill_pods_and_names_alone() -> None:
    """Whoever writes the header that names a prefill address, no other address is reached."""
    (policy,) = (p for p in objects_of("apart").kind("NetworkPolicy") if p["metadata"]["name"] == "engine-decode")
    ports = [sorted({port["port"] for port in rule.get("ports", [])}) for rule in policy["spec"]["egress"]]
    assert ports == [[53], []]
    (peer,) = policy["spec"]["egress"][1]["to"]
    assert peer["podSelector"]["matchLabels"]["llm-d.ai/role"] == "prefill"
