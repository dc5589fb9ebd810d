"""The graph as a whole: roles, nodes, versions, when it counts as done, and the platform it needs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from manifests import releases, render, weights_service_account
from manifests.dynamo import dynamo_objects, dynamo_releases
from stacks.images import ImageReference

from ..cases import spec_of
from ..cluster_objects import objects_of
from .cases import DYNAMO_CASES
from .graphs import component, components, container, environment, graph, pod, workers


def test_prefill_and_decode_are_components_of_their_own_types() -> None:
    found = [(c["name"], c["type"], c["replicas"]) for c in components(objects_of("a4x-max-dynamo"))]
    assert found == [("frontend", "frontend", 2), ("prefill", "prefill", 3), ("decode", "decode", 5)]


@pytest.mark.parametrize(("case", "nodes"), [("a4x-max-dynamo-bf16", 2), ("a4x-max-dynamo", None)])
def test_only_a_replica_over_several_nodes_is_multinode(case: str, nodes: int | None) -> None:
    for worker in workers(objects_of(case)):
        assert worker.get("multinode", {}).get("nodeCount") == nodes


def test_a_decode_worker_is_sized_without_the_tier() -> None:
    derived, objects = spec_of("dynamo-host-dram").derived, objects_of("dynamo-host-dram")
    memory = {
        name: container(component(objects, name))["resources"]["limits"]["memory"] for name in ("prefill", "decode")
    }
    assert memory == {"prefill": f"{derived.pod_memory_gib}Gi", "decode": f"{derived.decode_pod_memory_gib}Gi"}
    assert derived.pod_memory_gib > (derived.decode_pod_memory_gib or 0) + 400


def test_strategy_is_said_and_nothing_is_scraped_twice() -> None:
    assert graph(objects_of("a4x-max-dynamo"))["metadata"]["annotations"] == {
        "nvidia.com/grove-update-strategy": "RollingRecreate",
        "nvidia.com/enable-metrics": "false",
    }


@pytest.mark.parametrize(
    ("image", "override"),
    [
        (ImageReference("nvcr.io/nvidia/ai-dynamo/sglang-runtime:1.7.0", None), None),
        (ImageReference("nvcr.io/nvidia/ai-dynamo/sglang-runtime:1.7.0", "sha256:" + "0" * 64), "1.7.0"),
        (ImageReference("example.com:5000/sglang-runtime:beam-2026-11", None), "1.7.0"),
        (ImageReference("example.com:5000/sglang-runtime:1.7.0-beam", None), "1.7.0"),
    ],
)
def test_the_operator_is_told_a_version_it_cannot_read_from_the_tag(
    image: ImageReference, override: str | None
) -> None:
    spec = spec_of("a4x-max-dynamo")
    changed = replace(spec, images={**spec.images, "engine": image})
    (body,) = (o.body for o in dynamo_objects(changed) if o.name == "graph")
    assert {c.get("runtimeVersionOverride") for c in body["spec"]["components"]} == {override}


def test_a_worker_hands_over_where_another_can_take_over_and_else_finishes() -> None:
    key = "DYN_GRACEFUL_SHUTDOWN_GRACE_PERIOD_SECS"
    many, one = (workers(objects_of(case))[0] for case in ("g4-dynamo", "dynamo-one-replica"))
    derived = spec_of("g4-dynamo").derived
    assert environment(many)[key] == str(derived.drain_pause_s)
    assert environment(one)[key] == str(derived.engine_drain_s)
    assert derived.engine_drain_s < pod(one)["terminationGracePeriodSeconds"]


def test_up_waits_for_the_graph_within_its_budget() -> None:
    derived = spec_of("a4x-max-dynamo").derived
    (found,) = (o for o in render(spec_of("a4x-max-dynamo")) if o.name == "graph")
    assert (found.timeout_s, found.update_timeout_s) == (derived.workload_budget_s, derived.rollout_budget_s)
    assert found.wait_for == ("jsonpath={.status.state}=successful",)


def test_accepted_waits_for_nothing() -> None:
    assert not any(o.timeout_s or o.wait_for or o.await_ready for o in render(spec_of("dynamo-accepted")))


@pytest.mark.parametrize("case", DYNAMO_CASES)
def test_whatever_something_comes_after_is_there_before_it(case: str) -> None:
    spec = spec_of(case)
    objects = [o for o in render(spec) if o.area == "serving"]
    charts = [r for r in releases(spec) if r.area == "serving"]
    known = {o.name for o in objects} | {r.name for r in charts}
    assert {name for item in (*objects, *charts) for name in item.after} <= known
    (found,) = (o for o in objects if o.name == "graph")
    assert {"dynamo-platform"} <= set(found.after)


def test_the_platform_brings_grove_and_nothing_that_stores_or_queues() -> None:
    (platform,) = (r for r in releases(spec_of("a4x-max-dynamo")) if r.name == "dynamo-platform")
    assert platform.values["global"] == {
        "grove": {"install": True, "enabled": True},
        "kai-scheduler": {"install": False, "enabled": False},
        "etcd": {"install": False},
        "nats": {"install": False},
    }
    manager = platform.values["dynamo-operator"]["controllerManager"]
    assert manager["manager"]["image"] == {"repository": "nvcr.io/nvidia/ai-dynamo/kubernetes-operator", "tag": "1.7.0"}
    placed = "n4-standard-16"
    assert placed in str(manager["affinity"])
    assert placed in str(platform.values["grove"]["affinity"])
    assert platform.chart.namespace == "dynamo-system"


def test_a_stack_with_another_router_has_no_platform() -> None:
    assert dynamo_releases(spec_of("g4-llmd")) == ()


@pytest.mark.parametrize(
    ("case", "budgets"),
    [
        ("a4x-max-dynamo", {"prefill": 2, "decode": 4, "frontend": 1}),
        ("a4x-max-dynamo-bf16", {"worker": 7, "frontend": 1}),
        ("dynamo-one-replica", {}),
    ],
)
def test_a_drain_takes_one_pod_of_a_component_at_a_time(case: str, budgets: dict[str, int]) -> None:
    """Four replicas over two nodes are eight pods."""
    found = {b["metadata"]["name"]: b["spec"]["minAvailable"] for b in objects_of(case).kind("PodDisruptionBudget")}
    assert found == budgets


def test_a_transports_capability_takes_root_and_is_added_to_the_engine_alone() -> None:
    for worker in workers(objects_of("dynamo-rdma")):
        assert container(worker)["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["IPC_LOCK"]}
        assert pod(worker)["securityContext"]["runAsUser"] == 0
    frontend = component(objects_of("dynamo-rdma"), "frontend")
    assert container(frontend)["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert pod(frontend)["securityContext"]["runAsNonRoot"] is True


@pytest.mark.parametrize("case", ["a4x-max-dynamo-gcs-fuse", "dynamo-groups-mounted"])
def test_the_account_that_reads_the_bucket_is_the_one_the_operator_makes(case: str) -> None:
    """It is named after the graph, whose name says how many nodes its components span."""
    (graph,) = objects_of(case).kind("DynamoGraphDeployment")
    assert weights_service_account(spec_of(case)) == (
        graph["metadata"]["namespace"],
        f"{graph['metadata']['name']}-k8s-service-discovery",
    )
