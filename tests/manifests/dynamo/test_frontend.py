"""Frontends: routing is said once, the model's parsers are theirs, and they need no GPU."""

from __future__ import annotations

import pytest

from ..cases import spec_of
from ..cluster_objects import objects_of
from .cases import DYNAMO_CASES
from .graphs import arguments, component, container, environment, graph, pod, workers

KV = [
    "--http-port=8000",
    "--router-mode=kv",
    "--kv-cache-block-size=64",
    "--router-replica-sync",
    "--migration-limit=3",
    "--dyn-chat-processor=sglang",
    "--reasoning-parser=beam",
    "--tool-call-parser=beam",
]


def test_the_preset_routes_by_cached_prefix_over_two_frontends_that_agree() -> None:
    assert arguments("a4x-max-dynamo", "frontend") == KV


def test_one_frontend_has_nobody_to_agree_with() -> None:
    assert arguments("dynamo-one-frontend", "frontend") == [a for a in KV if a != "--router-replica-sync"]


def test_round_robin_knows_no_blocks() -> None:
    blocks = ("--kv-cache-block-size", "--router-replica-sync", "--router-mode")
    assert arguments("dynamo-round-robin", "frontend") == [
        KV[0],
        "--router-mode=round-robin",
        *(a for a in KV[1:] if not a.startswith(blocks)),
    ]
    values = environment(component(objects_of("dynamo-round-robin"), "frontend"))
    assert "DYN_ROUTER_ACTIVE_REQUEST_EXPIRY_SECS" not in values


def test_vllm_parses_what_vllm_wrote() -> None:
    assert arguments("g4-dynamo", "frontend")[-4:] == [
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
