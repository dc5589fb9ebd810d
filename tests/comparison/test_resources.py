"""A changed flag, variable, weight or volume of a planned stack is seen, and it alone."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from beamline.comparison import ResourceChange, written
from beamline.comparison.resources import compare_resources
from beamline.engine import Graph, Resource
from beamline.engine.values import UNKNOWN, Secret
from tests.components.plans import PRESETS, STACK, plan

Mutation = Callable[[dict[str, Any]], None]
"""Changes the inputs of resources, by their name without the stack's."""
CONTAINER = "spec.template.spec.containers[engine]"


def mutated(graph: Graph, mutate: Mutation) -> Graph:
    inputs = {short(resource): copy.deepcopy(dict(resource.inputs)) for resource in graph.resources}
    mutate(inputs)
    return replace(
        graph, resources=tuple(replace(r, inputs=inputs[short(r)]) for r in graph.resources if short(r) in inputs)
    )


def short(resource: Resource) -> str:
    return resource.name.removeprefix(f"{STACK}-")


def engine(inputs: dict[str, Any]) -> Any:
    return inputs["serving-engine"]["spec"]["template"]["spec"]["containers"][0]


def volumes(inputs: dict[str, Any]) -> Any:
    return inputs["serving-engine"]["spec"]["template"]["spec"]["volumes"]


def flag(old: str, new: str) -> Mutation:
    def mutate(inputs: dict[str, Any]) -> None:
        args = engine(inputs)["args"]
        (at,) = [index for index, word in enumerate(args) if old in word]
        args[at] = args[at].replace(old, new)

    return mutate


def variable(inputs: dict[str, Any]) -> None:
    env = engine(inputs)["env"]
    next(one for one in env if one["name"] == "NCCL_P2P_LEVEL")["value"] = "PHB"
    env.insert(0, {"name": "PYTHONHASHSEED", "value": "0"})


def weight(inputs: dict[str, Any]) -> None:
    """A new content is a new object with a new hash in its name, and whoever mounts it names that."""
    config = inputs["serving-router-config"]
    was, now = config["metadata"]["name"], "router-config-0123456789"
    config["data"]["config.yaml"] = config["data"]["config.yaml"].replace("weight: 3", "weight: 4")
    for name in ("serving-router-config", "serving-router"):
        inputs[name] = json.loads(json.dumps(inputs[name]).replace(was, now))
    assert now in json.dumps(inputs["serving-router"])


def volume(inputs: dict[str, Any]) -> None:
    next(one for one in volumes(inputs) if one["name"] == "shm")["emptyDir"]["sizeLimit"] = "300Gi"
    volumes(inputs).append({"name": "kv-tier", "emptyDir": {}})


def moved_volume(inputs: dict[str, Any]) -> None:
    """Not the hash alone: another claim."""
    volumes(inputs)[0]["persistentVolumeClaim"]["claimName"] = "other-0123456789"


def pool(inputs: dict[str, Any]) -> None:
    inputs["main-pool"]["nodeCount"] = 2
    inputs["main-pool"]["cluster"] = UNKNOWN


def secret(inputs: dict[str, Any]) -> None:
    inputs["serving-router-service"]["spec"]["externalName"] = Secret("hunter2")


Expected = list[tuple[str, str, str, list[tuple[str, str, Any, Any]]]]

MUTATIONS: dict[str, tuple[Mutation, Expected]] = {
    "nothing": (lambda _: None, []),
    "a flag": (
        flag("--max-num-seqs=64", "--max-num-seqs=128"),
        [("changed", "Deployment", "serving-engine", [(f"{CONTAINER}.args.--max-num-seqs", "changed", "64", "128")])],
    ),
    "a key of a JSON flag": (
        flag('"blocks_per_chunk":4', '"blocks_per_chunk":8'),
        [
            (
                "changed",
                "Deployment",
                "serving-engine",
                [
                    (
                        f"{CONTAINER}.args.--kv-transfer-config.kv_connector_extra_config.blocks_per_chunk",
                        "changed",
                        4,
                        8,
                    )
                ],
            )
        ],
    ),
    "variables": (
        variable,
        [
            (
                "changed",
                "Deployment",
                "serving-engine",
                [
                    (f"{CONTAINER}.env[NCCL_P2P_LEVEL]", "changed", "SYS", "PHB"),
                    (f"{CONTAINER}.env[PYTHONHASHSEED]", "added", None, "0"),
                ],
            )
        ],
    ),
    "a plugin's weight": (
        weight,
        [
            (
                "changed",
                "ConfigMap",
                "serving-router-config",
                [
                    (
                        "data[config.yaml].schedulingProfiles[default].plugins[prefix-cache-scorer].weight",
                        "changed",
                        3,
                        4,
                    )
                ],
            )
        ],
    ),
    "volumes": (
        volume,
        [
            (
                "changed",
                "Deployment",
                "serving-engine",
                [
                    ("spec.template.spec.volumes[kv-tier]", "added", None, {"emptyDir": {}}),
                    ("spec.template.spec.volumes[shm].emptyDir.sizeLimit", "changed", "239Gi", "300Gi"),
                ],
            )
        ],
    ),
    "a node pool, and what is known of it": (
        pool,
        [
            (
                "changed",
                "gcp.container.NodePool",
                "main-pool",
                [("cluster", "changed", "beamline-dev", "unknown"), ("nodeCount", "changed", 1, 2)],
            )
        ],
    ),
    "a secret": (
        secret,
        [
            (
                "changed",
                "Service",
                "serving-router-service",
                [("spec.externalName", "added", None, "secret")],
            )
        ],
    ),
    "an object less": (
        lambda inputs: inputs.pop("serving-router-role"),
        [("removed", "Role", "serving-router-role", [])],
    ),
}


def told(changes: list[ResourceChange]) -> Expected:
    return [
        (c.change, c.kind, c.name, [(written(d.path), d.change, shown(d.old), shown(d.new)) for d in c.differences])
        for c in changes
    ]


def shown(value: Any) -> Any:
    return getattr(value, "word", value)


@pytest.mark.parametrize("name", MUTATIONS)
def test_exactly_the_mutation_is_seen(name: str) -> None:
    mutate, expected = MUTATIONS[name]
    graph = plan("g4-llmd")
    changes, same = compare_resources(graph, mutated(graph, mutate))
    assert told(changes) == expected
    assert same == objects(graph) - len(expected)
    assert "hunter2" not in repr(changes)


def objects(graph: Graph) -> int:
    return sum(1 for r in graph.resources if r.custom and not r.type.startswith("pulumi:providers:"))


def test_another_claim_is_seen_though_it_has_a_hash_too() -> None:
    graph = plan("g4-llmd")
    changes, _ = compare_resources(graph, mutated(graph, moved_volume))
    ((found,),) = [change.differences for change in changes]
    assert found.new == "other-0123456789"


def test_an_api_version_is_a_change_of_the_same_object() -> None:
    graph = plan("g4-llmd")
    other = tuple(
        replace(
            r,
            type=r.type.replace("inference.networking.k8s.io/v1", "inference.networking.k8s.io/v2alpha1"),
            inputs={**r.inputs, "apiVersion": "inference.networking.k8s.io/v2alpha1"},
        )
        if short(r) == "serving-inference-pool"
        else r
        for r in graph.resources
    )
    changes, _ = compare_resources(graph, replace(graph, resources=other))
    assert [(c.change, c.kind, [written(d.path) for d in c.differences]) for c in changes] == [
        ("changed", "InferencePool", ["apiVersion"])
    ]


def test_protection_is_seen() -> None:
    graph = plan("g4-llmd")
    bare = replace(graph, resources=tuple(replace(r, protect=None) for r in graph.resources))
    changes, _ = compare_resources(graph, bare)
    assert {(d.change, written(d.path)) for c in changes for d in c.differences} == {("removed", "(protect)")}


def test_a_large_object_that_takes_the_place_of_another_is_told_by_it() -> None:
    """An engine that is split in two: each is what it has other than the one before."""
    graph = plan("g4-llmd")
    engine_pod = next(r for r in graph.resources if short(r) == "serving-engine")
    parts = tuple(
        replace(
            engine_pod,
            name=f"{STACK}-serving-{role}",
            urn=f"{engine_pod.urn}-{role}",
            inputs={**engine_pod.inputs, "metadata": {**engine_pod.inputs["metadata"], "name": role}},  # type: ignore[dict-item]
        )
        for role in ("prefill", "decode")
    )
    split = replace(graph, resources=(*(r for r in graph.resources if r is not engine_pod), *parts))
    changes, _ = compare_resources(graph, split)
    assert [(c.change, c.old_name, c.name, [d.new for d in c.differences]) for c in changes] == [
        ("replaced", "serving-engine", "serving-decode", ["decode"]),
        ("replaced", "serving-engine", "serving-prefill", ["prefill"]),
    ]
    assert mirrored(changes) == in_order(compare_resources(split, graph)[0])


@pytest.mark.parametrize("preset", PRESETS)
def test_a_plan_does_not_differ_from_itself(preset: str) -> None:
    graph = plan(preset)
    assert compare_resources(graph, mutated(graph, lambda _: None)) == ([], objects(graph))


AROUND = [*pairwise(PRESETS), (PRESETS[-1], PRESETS[0])]


@pytest.mark.parametrize(("old", "new"), AROUND, ids=map("--".join, AROUND))
def test_the_other_way_round_it_is_the_mirror(old: str, new: str) -> None:
    found, same = compare_resources(plan(old), plan(new))
    back, same_back = compare_resources(plan(new), plan(old))
    assert (mirrored(found), same) == (in_order(back), same_back)
    assert found


def mirrored(changes: list[ResourceChange]) -> list[tuple[Any, ...]]:
    other = {"added": "removed", "removed": "added"}
    return in_order(
        [
            replace(
                change,
                name=change.old_name,
                old_name=change.name,
                change=other.get(change.change, change.change),  # type: ignore[arg-type]
                differences=tuple(difference.mirrored() for difference in change.differences),
            )
            for change in changes
        ]
    )


def in_order(changes: list[ResourceChange]) -> list[tuple[Any, ...]]:
    return sorted((c.kind, c.old_name, c.name, c.change, sorted(map(repr, c.differences))) for c in changes)
