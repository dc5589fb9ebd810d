"""Frontends: routing is said once, the model's parsers are theirs, and they need no GPU."""

from __future__ import annotations

import pytest

from stacks.memory import MIB

from ..cases import spec_of
from ..cluster_objects import objects_of
from .cases import DYNAMO_CASES
from .graphs import arguments, component, components, container, environment, graph, pod, workers

KV = [
    "--http-port=8000",
    "--router-mode=kv",
    "--kv-cache-block-size=64",
    "--router-kv-events",
    "--router-replica-sync",
    "--router-policy-config=/etc/dynamo-router/policy.yaml",
    "--migration-limit=3",
    "--dyn-chat-processor=sglang",
    "--reasoning-parser=beam",
    "--tool-call-parser=beam",
    "--enable-anthropic-api",
]


def test_the_preset_routes_by_cached_prefix_over_two_frontends_that_agree() -> None:
    assert arguments("a4x-max-dynamo", "frontend") == KV


def test_one_frontend_has_nobody_to_agree_with() -> None:
    assert arguments("dynamo-one-frontend", "frontend") == [a for a in KV if a != "--router-replica-sync"]


def test_round_robin_knows_no_blocks_and_reads_no_policy() -> None:
    objects, of_caches = objects_of("dynamo-round-robin"), ("--kv-cache", "--router-")
    assert arguments("dynamo-round-robin", "frontend") == [
        KV[0],
        "--router-mode=round-robin",
        *(a for a in KV[1:] if not a.startswith(of_caches)),
    ]
    assert "DYN_ROUTER_ACTIVE_REQUEST_EXPIRY_SECS" not in environment(component(objects, "frontend"))
    assert not [b for b in objects.kind("ConfigMap") if b["metadata"]["name"].startswith("router-policy")]


CHANGES: dict[str, tuple[set[str], set[str]]] = {
    "dynamo-approximate": ({"--no-router-kv-events"}, {"--router-kv-events"}),
    "dynamo-soft": ({"--router-session-affinity-ttl-secs=60", "--router-session-affinity-mode=soft"}, set()),
    "dynamo-sticky": (
        {"--router-session-affinity-ttl-secs=600", "--router-session-affinity-mode=hard"},
        {"--router-replica-sync"},
    ),
    "dynamo-bands": (set(), set()),
}
"""Case: what its frontends have and the preset's have not, and the reverse. Queues are in the file."""


@pytest.mark.parametrize("case", CHANGES)
def test_a_feature_of_routing_changes_its_flags_and_no_other(case: str) -> None:
    changed = set(arguments(case, "frontend"))
    assert (changed - set(KV), set(KV) - changed) == CHANGES[case]


def test_a_prompt_of_full_length_fits_in_a_body_and_in_a_message() -> None:
    """A million tokens of 32 bytes; a shorter context gets no less than Dynamo's own limit of a message."""
    for case, limit_mib in (("a4x-max-dynamo", 32), ("dynamo-round-robin", 32)):
        objects = objects_of(case)
        shared = {e["name"]: e["value"] for e in graph(objects)["spec"]["env"]}
        assert shared["DYN_TCP_MAX_MESSAGE_SIZE"] == str(limit_mib * MIB)
        assert environment(component(objects, "frontend"))["DYN_HTTP_BODY_LIMIT_MB"] == str(limit_mib)


def test_planes_are_said_once_for_all() -> None:
    """Of discovery the operator takes care; the others have to be the same on both sides."""
    objects = objects_of("a4x-max-dynamo")
    assert {e["name"]: e["value"] for e in graph(objects)["spec"]["env"]} == {
        "DYN_REQUEST_PLANE": "tcp",
        "DYN_EVENT_PLANE": "zmq",
        "DYN_TCP_MAX_MESSAGE_SIZE": str(32 * MIB),
    }
    for found in components(objects):
        assert not [name for name in environment(found) if name.endswith("_PLANE") or "DISCOVERY" in name]


def test_vllm_parses_what_vllm_wrote() -> None:
    assert arguments("g4-dynamo", "frontend")[-5:-1] == [
        "--dyn-chat-processor=vllm",
        "--reasoning-parser=beam",
        "--tool-call-parser=beam",
        "--enable-auto-tool-choice",
    ]


@pytest.mark.parametrize("case", DYNAMO_CASES)
def test_no_worker_says_anything_about_routing(case: str) -> None:
    """A worker that does replaces the frontend's whole router configuration."""
    for worker in workers(objects_of(case)):
        assert not [a for a in container(worker)["args"] if a.startswith(("--router", "--migration"))]
        assert not [name for name in environment(worker) if name.startswith(("DYN_ROUTER", "DYN_MIGRATION"))]
    assert not [e for e in graph(objects_of(case))["spec"]["env"] if e["name"].startswith("DYN_ROUTER")]


def test_frontends_are_on_system_nodes_and_apart() -> None:
    two, one = (pod(component(objects_of(case), "frontend")) for case in ("a4x-max-dynamo", "dynamo-one-frontend"))
    assert two["nodeSelector"] == {
        "node.kubernetes.io/instance-type": "n4-standard-16",
        "cloud.google.com/gke-nodepool": "beamline-test-system",
    }
    assert "nvidia.com/gpu" not in str(two["containers"][0]["resources"])
    assert two["topologySpreadConstraints"][0]["topologyKey"] == "kubernetes.io/hostname"
    assert "topologySpreadConstraints" not in one


def test_a_frontend_finishes_the_longest_request_before_it_goes() -> None:
    spec, frontend = spec_of("a4x-max-dynamo"), component(objects_of("a4x-max-dynamo"), "frontend")
    values, pause = environment(frontend), container(frontend)["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert int(values["DYN_HTTP_GRACEFUL_SHUTDOWN_TIMEOUT_SECS"]) == spec.derived.engine_drain_s
    assert pause + spec.derived.engine_drain_s < pod(frontend)["terminationGracePeriodSeconds"]
    assert int(values["DYN_ROUTER_ACTIVE_REQUEST_EXPIRY_SECS"]) >= spec.preset.serving.longest_request_s
