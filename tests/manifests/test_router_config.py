"""The endpoint picker's configuration, whole."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import yaml

from beamline.crds import find
from manifests import render
from manifests.chosen import llmd_release
from manifests.llmd.objectives import objectives
from stacks.catalog_files import load_catalog

from .cases import spec_of
from .cluster_objects import flag, objects_of


def config(case: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(objects_of(case).one("ConfigMap", "router-config")["data"]["config.yaml"])
    return loaded


API = "llm-d.ai/v1alpha1"
PRODUCER = "approx-prefix-cache-producer"
WHOLE = {"maxPrefixTokensToMatch": 0, "maxPrefixBlocksToMatch": 0}
LOWER_TIER = {"autoTune": False, "blockSizeTokens": 64, "lruCapacityPerServer": 182_044, **WHOLE}
BY_LOWER_TIER = {
    "name": "lower-tier-prefix-cache-scorer",
    "type": "prefix-cache-scorer",
    "parameters": {"prefixMatchInfoProducerName": "lower-tier"},
}
REMEMBERS = (
    {"type": PRODUCER, "parameters": WHOLE},
    {"name": "lower-tier", "type": PRODUCER, "parameters": LOWER_TIER},
)
SCORERS = (
    {"type": "prefix-cache-scorer"},
    BY_LOWER_TIER,
    {"type": "queue-scorer"},
    {"type": "kv-cache-utilization-scorer"},
)
WEIGHTS = {
    "prefix-cache-scorer": 3,
    "lower-tier-prefix-cache-scorer": 1.2,
    "queue-scorer": 2,
    "kv-cache-utilization-scorer": 2,
}
IDENTITY = {"type": "agent-identity", "parameters": {"additionalSessionHeaders": ["x-session-id"]}}
SESSIONS = {
    "strategy": "session_id",
    "sessionIdConfig": {"sources": [{"attribute": "agent-identity"}], "evictionTtlSeconds": 3600},
}
PLACES = {"type": "concurrency-detector", "parameters": {"maxConcurrency": 67}}


def expected(*plugins: dict[str, Any], weights: dict[str, float | None], **sections: Any) -> dict[str, Any]:
    """A configuration with one profile; ``weights`` are what it chooses by, None for filters."""
    used = [{"pluginRef": name, **({} if weight is None else {"weight": weight})} for name, weight in weights.items()]
    return {
        "apiVersion": API,
        "kind": "EndpointPickerConfig",
        "plugins": [*plugins, {"type": "max-score-picker"}, {"type": "single-profile-handler"}],
        "schedulingProfiles": [{"name": "default", "plugins": [*used, {"pluginRef": "max-score-picker"}]}],
        **sections,
    }


def bands(*priorities: int, fairness: str, wait_s: int) -> dict[str, Any]:
    return {
        "featureGates": ["flowControl"],
        "flowControl": {
            "maxBytes": "4Gi",
            "defaultRequestTTL": f"{wait_s}s",
            "saturationDetector": {"pluginRef": "concurrency-detector"},
            "priorityBands": [
                {
                    "priority": priority,
                    "maxBytes": str(4 * 2**30 // len(priorities)),
                    "fairnessPolicyRef": fairness,
                    "orderingPolicyRef": "fcfs-ordering-policy",
                }
                for priority in priorities
            ],
        },
    }


WANTED = {
    "short context keeps the router's own cap": (
        "small-l4",
        expected(
            {"type": PRODUCER},
            {"type": "prefix-cache-scorer"},
            {"type": "queue-scorer"},
            {"type": "kv-cache-utilization-scorer"},
            weights={"prefix-cache-scorer": 3, "queue-scorer": 2, "kv-cache-utilization-scorer": 2},
        ),
    ),
    "long context lifts both caps, and a tier below the GPU has a memory and a scorer of its own": (
        "g4-llmd",
        expected(*REMEMBERS, *SCORERS, weights=WEIGHTS),
    ),
    "weight 0 leaves a scorer out, and the producer it needs": (
        "queue-only",
        expected({"type": "queue-scorer"}, weights={"queue-scorer": 1}),
    ),
    "in turn: the replica that was chosen longest ago, whatever it has cached": (
        "in-turn",
        expected(
            {
                "name": "remembers-nothing",
                "type": PRODUCER,
                "parameters": {"autoTune": False, "blockSizeTokens": 64, "maxPrefixTokensToMatch": 1},
            },
            {"type": "no-hit-lru-scorer", "parameters": {"prefixMatchInfoProducerName": "remembers-nothing"}},
            weights={"no-hit-lru-scorer": 1},
        ),
    ),
    "a session weighs with the others": (
        "sessions",
        expected(
            IDENTITY,
            *REMEMBERS,
            {"type": "session-affinity-scorer", "parameters": SESSIONS},
            *SCORERS,
            weights={"session-affinity-scorer": 5, **WEIGHTS},
        ),
    ),
    "a strict session leaves nothing to choose": (
        "strict-sessions",
        expected(
            IDENTITY,
            *REMEMBERS,
            {"type": "session-affinity-filter", "parameters": SESSIONS},
            *SCORERS,
            weights={"session-affinity-filter": None, **WEIGHTS},
        ),
    ),
    "bands in order of arrival": (
        "bands",
        expected(
            *REMEMBERS,
            IDENTITY,
            {"type": "inflight-load-producer"},
            PLACES,
            {"type": "global-strict-fairness-policy"},
            {"type": "fcfs-ordering-policy"},
            *SCORERS,
            weights=WEIGHTS,
            **bands(1, 0, fairness="global-strict-fairness-policy", wait_s=600),
        ),
    ),
    "deeper sessions first": (
        "turns",
        expected(
            IDENTITY,
            *REMEMBERS,
            {"type": "inflight-load-producer"},
            PLACES,
            {
                "type": "program-aware-fairness",
                "parameters": {
                    "strategy": "turn-priority",
                    "turnPriorityTimeWeight": 0.5,
                    "evictionTtlSeconds": 3600,
                },
            },
            {"type": "fcfs-ordering-policy"},
            {"type": "session-affinity-scorer", "parameters": SESSIONS},
            *SCORERS,
            weights={"session-affinity-scorer": 5, **WEIGHTS},
            **bands(0, -1, fairness="program-aware-fairness", wait_s=900),
        ),
    ),
    "events: tokens from the engines, an index as large as all they hold": (
        "events",
        expected(
            {
                "type": "token-producer",
                "parameters": {
                    "modelName": "reflection/Beam-1.0-501B-A23B",
                    "vllm": {"url": "http://engine-render.beam.svc.cluster.local:8000"},
                },
            },
            {
                "type": "precise-prefix-cache-producer",
                "parameters": {
                    "tokenProcessorConfig": {"blockSizeTokens": 64},
                    "indexerConfig": {
                        "kvBlockIndexConfig": {
                            "inMemoryConfig": {"size": 1_350_723, "podCacheSize": 4},
                            "enableMetrics": True,
                        },
                        "kvCacheBackendConfigs": [{"name": "gpu", "weight": 1.0}, {"name": "cpu", "weight": 0.4}],
                    },
                    "kvEventsConfig": {
                        "topicFilter": "kv@",
                        "discoverPods": True,
                        "podDiscoveryConfig": {"socketPort": 5557},
                    },
                    "speculativeIndexing": True,
                },
            },
            {"type": "endpoint-notification-source"},
            {
                "type": "prefix-cache-scorer",
                "parameters": {"prefixMatchInfoProducerName": "precise-prefix-cache-producer"},
            },
            {"type": "queue-scorer"},
            {"type": "kv-cache-utilization-scorer"},
            weights={"prefix-cache-scorer": 3, "queue-scorer": 2, "kv-cache-utilization-scorer": 2},
            dataLayer={
                "sources": [
                    {
                        "pluginRef": "endpoint-notification-source",
                        "extractors": [{"pluginRef": "precise-prefix-cache-producer"}],
                    }
                ]
            },
        ),
    ),
}


@pytest.mark.parametrize("title", WANTED)
def test_config(title: str) -> None:
    case, wanted = WANTED[title]
    assert config(case) == wanted


def test_new_content_is_a_new_object_and_rolls_the_router() -> None:
    """The picker reads its file once: a ConfigMap changed in place would change nothing."""
    names, used = set(), set()
    for case in ("small-l4", "queue-only"):
        objects = objects_of(case)
        names.add(objects.one("ConfigMap", "router-config")["metadata"]["name"])
        used.add(objects.pod("router")["volumes"][0]["configMap"]["name"])
    assert names == used
    assert len(names) == 2


@pytest.mark.parametrize(
    ("case", "told"),
    [("sessions", True), ("strict-sessions", True), ("bands", True), ("g4-llmd", False), ("in-turn", False)],
)
def test_the_picker_is_told_that_it_may_start_experimental_plugins(case: str, told: bool) -> None:
    """Without the flag it refuses to start with one of them, and nothing else needs it."""
    assert flag(objects_of(case).container("router"), "allow-experimental-plugins") == ("true" if told else None)


def test_a_band_has_a_name_that_clients_can_say() -> None:
    found = {body["metadata"]["name"]: body["spec"] for body in objects_of("bands").kind("InferenceObjective")}
    pool = {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "engine"}
    assert found == {"agents": {"priority": 1, "poolRef": pool}, "rest": {"priority": 0, "poolRef": pool}}


def test_objectives_have_the_version_of_the_release_which_is_one_that_the_kit_installs() -> None:
    """The kit brings the definition, so a row with another version would be refused by the API server."""
    spec = spec_of("bands")
    row = llmd_release(spec).model_copy(update={"inference_objective_api_version": "llm-d.ai/v9"})
    other = dataclasses.replace(spec, rows=dataclasses.replace(spec.rows, release=row))
    assert {item.body["apiVersion"] for item in objectives(other)} == {"llm-d.ai/v9"}
    asked = {row.inference_objective_api_version for row in load_catalog().llmd_releases.values()}
    assert [version for version in sorted(asked) if find(version, "InferenceObjective") is None] == []


@pytest.mark.parametrize("case", ["events", "events-of-groups"])
def test_engine_and_picker_agree_on_events(case: str) -> None:
    """Port, topic, block size and model are one number or name each, and engines render prompts for the picker."""
    objects = objects_of(case)
    engine, told = objects.container("engine"), config(case)
    published = flag(engine, "kv-events-config")
    (listens,) = (p["parameters"] for p in told["plugins"] if p["type"] == "precise-prefix-cache-producer")
    (asks,) = (p["parameters"] for p in told["plugins"] if p["type"] == "token-producer")
    render = objects.one("Service", "engine-render")
    (port,) = render["spec"]["ports"]
    assert published == {
        "enable_kv_cache_events": True,
        "publisher": "zmq",
        "endpoint": f"tcp://*:{listens['kvEventsConfig']['podDiscoveryConfig']['socketPort']}",
        "topic": f"{listens['kvEventsConfig']['topicFilter']}$(POD_IP):8000@{flag(engine, 'served-model-name')}",
    }
    assert {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}} in engine["env"]
    assert listens["tokenProcessorConfig"]["blockSizeTokens"] == int(flag(engine, "block-size"))
    assert asks["modelName"] == flag(engine, "served-model-name")
    home = f"{render['metadata']['name']}.{render['metadata']['namespace']}"
    assert asks["vllm"]["url"] == f"http://{home}.svc.cluster.local:{port['port']}"
    assert port["targetPort"] == int(flag(engine, "port"))
    assert "--enable-scale-out" in engine["args"], "or /render answers 403"


def test_of_two_pickers_one_stands_by_where_each_has_a_memory_of_its_own() -> None:
    """It is elected by a lease; nobody waits for the other, and both go when a new one comes."""
    objects = objects_of("a-picker-stands-by")
    router, workload = objects.container("router"), objects.one("Deployment", "router")
    leases = [r for r in objects.one("Role", "router")["rules"] if r["resources"] == ["leases"]]
    assert flag(router, "ha-enable-leader-election") == "true"
    assert (router["readinessProbe"]["grpc"]["service"], router["livenessProbe"]["grpc"]["service"]) == (
        "readiness",
        "liveness",
    )
    assert workload["spec"]["replicas"] == 2
    assert workload["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 2}
    assert len(leases) == 1
    (deployment,) = (o for o in render(spec_of("a-picker-stands-by")) if (o.area, o.name) == ("serving", "router"))
    assert deployment.wait_for == ("jsonpath={.status.readyReplicas}",)


def test_two_pickers_choose_where_both_hear_the_same() -> None:
    objects = objects_of("two-pickers-choose")
    assert flag(objects.container("router"), "ha-enable-leader-election") is None
    assert objects.one("Deployment", "router")["spec"]["replicas"] == 2
    assert [r["resources"] for r in objects.one("Role", "router")["rules"] if "leases" in r["resources"]] == []
