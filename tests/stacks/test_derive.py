"""Derived numbers: whole tables for the shipped presets, and laws that hold for every composition."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from stacks import StackSpec
from stacks.derived import DRAIN_PAUSE_S, MARGIN_S, Derived
from stacks.yaml_files import read_yaml
from tests.stacks.conftest import Stack
from tests.stacks.goldens import DERIVED, derived_numbers


def test_numbers_of_the_shipped_presets() -> None:
    """Every derived number of every preset is the one that was reviewed."""
    assert derived_numbers() == read_yaml(DERIVED), "if right: python -m tests.stacks.goldens"


def test_every_number_is_explained(stack: Stack) -> None:
    """Plan shows name, value, unit and formula of each field."""
    explained = stack().derived.explained()
    assert [line["name"] for line in explained] == [field.name for field in dataclasses.fields(Derived)]
    assert all(line["unit"] and line["formula"] for line in explained)


def _stacks(stack: Stack) -> list[StackSpec]:
    changes: list[dict[str, Any]] = [
        {},
        {"serving": {"longest_request_s": 60}},
        {"serving": {"kv_cache": {"offload": {"kind": "none"}}}},
        {"serving": {"kv_cache": {"offload": {"gib_per_replica": 100}}}},
        {"serving": {"engine": {"gpu_memory_utilization": 0.85}}},
    ]
    others = ("small-l4", "g4-dynamo", "a4x-max-dynamo", "a4x-max-dynamo-bf16", "a4x-max-llmd")
    return [stack(overrides=overrides) for overrides in changes] + [stack(preset=name) for name in others]


def test_deadlines_increase_outwards(stack: Stack) -> None:
    """Engine, pod, gateway and client give up in that order, so that the inner one's answer is the one that is seen."""
    for spec in _stacks(stack):
        d = spec.derived
        assert spec.preset.serving.longest_request_s == d.engine_drain_s < d.gateway_timeout_s < d.client_timeout_s
        assert d.termination_grace_s == DRAIN_PAUSE_S + d.engine_drain_s + MARGIN_S
        assert d.engine_startup_budget_s < d.workload_budget_s <= d.rollout_budget_s
        assert d.router_budget_s < d.router_rollout_budget_s


def test_replicas_share_a_node(stack: Stack) -> None:
    """What a node's replicas ask for is what the node has, with room left."""
    for spec in [*_stacks(stack), stack(preset="g4-llmd-nvfp4", accept_unverified=["precision:nvfp4"])]:
        d, gpus = spec.derived, spec.rows.hardware.gpu.count
        per_node = min(d.replicas_per_node, d.replicas)
        assert d.replicas_per_node * d.gpus_per_pod <= gpus
        assert d.gpus_per_pod * d.nodes_per_replica == spec.preset.serving.shape.tensor_parallel
        assert d.nodes_needed <= spec.preset.accelerator_pools["main"].nodes
        assert per_node * d.pod_cpu * 1000 <= d.allocatable_cpu_millicores - 2000
        assert per_node * d.pod_memory_gib < d.allocatable_memory_gib
        assert per_node * d.pod_ephemeral_gib * 2**30 + d.weights_bytes < d.allocatable_ephemeral_gib * 2**30
        assert d.shm_gib <= d.pod_memory_gib


def test_a_host_tier_counts_in_shared_memory_and_twice_in_the_pod(stack: Stack) -> None:
    """One GiB more in the tier is 1/0.9 in /dev/shm and two in the pod's memory."""
    none, some = (
        stack(overrides={"serving": {"kv_cache": {"offload": offload}}}).derived
        for offload in ({"kind": "none"}, {"kind": "host_dram", "gib_per_replica": 90})
    )
    assert (some.shm_gib - none.shm_gib, some.pod_memory_gib - none.pod_memory_gib) == (100, 180)
    assert some.host_tier_tokens_per_replica == 90 * 2**30 // some.kv_bytes_per_token
    assert some.kv_room_bytes_per_replica == none.kv_room_bytes_per_replica


def test_kv_room_is_what_others_computed(stack: Stack) -> None:
    """At 0.90 of the driver's memory, FP8 on eight GPUs leaves 182 GB, NVFP4 on four 52 GB (sized by others)."""
    utilization = {"serving": {"engine": {"gpu_memory_utilization": 0.9}}}
    fp8 = stack(overrides=utilization)
    nvfp4 = stack(preset="g4-llmd-nvfp4", accept_unverified=["precision:nvfp4"], overrides=utilization)
    assert fp8.derived.kv_room_bytes_per_replica / 1e9 == pytest.approx(182, abs=0.5)
    assert nvfp4.derived.kv_room_bytes_per_replica / 1e9 == pytest.approx(52, abs=0.5)


@pytest.mark.parametrize(
    ("preset", "serving", "room_gb", "tokens_millions"),
    [
        ("a4x-max-dynamo", {"shape": {"kind": "aggregated", "replicas": 8}, "transport": None}, 755, None),
        ("a4x-max-llmd", {}, 1096, 59.4),
        ("a4x-max-llmd", {"kv_cache": {"dtype": "auto"}}, 1096, 29.7),
    ],
)
def test_kv_room_of_metal_is_what_others_computed(
    stack: Stack, preset: str, serving: dict[str, Any], room_gb: float, tokens_millions: float | None
) -> None:
    """GB300 at 0.90: NVFP4 on four GPUs 755 GB, BF16 on eight 1,096 GB; 59.4 and 29.7 million tokens (sized by others).

    Ours are 7.5 % fewer: vLLM counts windows and two batches to a request, 1,325 blocks to 16,384 of full layers.
    """
    shape = {"tensor_parallel": 4, "expert_parallel": False} if "shape" in serving else {}
    change = {**serving, "engine": {"gpu_memory_utilization": 0.9}}
    if shape:
        change["shape"] = {**serving["shape"], **shape}
    d = stack(preset=preset, overrides={"serving": change}).derived
    assert d.kv_room_bytes_per_replica / 1e9 == pytest.approx(room_gb, abs=1)
    if tokens_millions is not None:
        share = 16_384 / (16_384 + 1_325)
        assert d.kv_tokens_per_replica / 1e6 == pytest.approx(share * tokens_millions, rel=0.005)


def test_a_replica_over_two_nodes_is_two_pods_of_a_whole_node(stack: Stack) -> None:
    """Twice the GPUs, the same pod: what a pod asks for does not grow with the nodes of its replica."""
    two, one = (
        stack(
            preset="a4x-max-llmd",
            accept_unverified=["precision:nvfp4", "parallelism:tp4"],
            overrides={
                "model": {"checkpoint": "nvfp4", "weights": {"prefix": "beam/nvfp4"}},
                "serving": {"shape": {"replicas": 32 // size, "tensor_parallel": size}, **transport},
            },
        ).derived
        for size, transport in ((8, {}), (4, {"transport": None}))
    )
    assert (two.nodes_per_replica, one.nodes_per_replica) == (2, 1)
    assert (two.replicas, one.replicas) == (4, 8)
    assert two.nodes_needed == one.nodes_needed == 8
    for name in ("gpus_per_pod", "pod_cpu", "shm_gib", "pod_memory_gib", "pod_ephemeral_gib"):
        assert getattr(two, name) == getattr(one, name)
    assert two.weights_bytes_per_gpu * 2 == one.weights_bytes_per_gpu


def test_a_tier_of_a_replica_is_split_over_its_nodes(stack: Stack) -> None:
    """Host memory of a replica over two nodes: half in each pod; per rank an eighth."""
    tier = {"serving": {"kv_cache": {"offload": {"kind": "host_dram", "gib_per_replica": 200}}}}
    accepted = ["kv-offload:host_dram"]
    with_tier = stack(preset="a4x-max-dynamo-bf16", accept_unverified=accepted, overrides=tier).derived
    without = stack(preset="a4x-max-dynamo-bf16").derived
    assert with_tier.pod_memory_gib - without.pod_memory_gib == 120  # 100 GiB a pod and a fifth for pinning
    assert with_tier.host_tier_bytes_per_rank * 8 == with_tier.host_tier_bytes_per_replica == 200 * 2**30


_HOST_TIER: dict[str, Any] = {
    "accept_unverified": ["kv-offload:host_dram"],
    "overrides": {"serving": {"kv_cache": {"offload": {"kind": "host_dram", "gib_per_replica": 400}}}},
}


def test_only_prefill_workers_have_the_tier(stack: Stack) -> None:
    """Decode workers reuse no prefix: their pods are those of a stack without a tier."""
    split = stack(preset="a4x-max-dynamo", **_HOST_TIER)
    plain = stack(preset="a4x-max-dynamo", overrides={"serving": {"kv_cache": {"offload": {"kind": "none"}}}})
    assert [(role.name, role.replicas, role.tiered) for role in split.roles] == [
        ("prefill", 3, True),
        ("decode", 5, False),
    ]
    d, p = split.derived, plain.derived
    decode = (d.decode_shm_gib, d.decode_pod_memory_gib, d.decode_pod_ephemeral_gib)
    set_aside_gib = -(-split.preset.serving.context_tokens * d.kv_bytes_per_token // 2**30)
    assert decode == (p.shm_gib, p.pod_memory_gib + set_aside_gib, p.pod_ephemeral_gib)
    assert d.pod_memory_gib - p.pod_memory_gib == 480  # 400 GiB and a fifth for pinning
    assert d.replicas == 8
    aggregated = stack(preset="a4x-max-dynamo-bf16").derived
    assert aggregated.decode_shm_gib is aggregated.decode_pod_memory_gib is aggregated.decode_pod_ephemeral_gib is None


def test_a_pod_claims_the_devices_of_its_node(stack: Stack) -> None:
    """Eight of eight with RDMA, none with NVLink alone."""
    rdma = {"serving": {"transport": {"name": "nvlink+rdma"}}}
    assert stack(preset="a4x-max-dynamo").derived.rdma_devices_per_pod == 0
    accepted = ["transport:nvlink+rdma"]
    spec = stack(preset="a4x-max-dynamo", accept_unverified=accepted, overrides=rdma)
    assert spec.derived.rdma_devices_per_pod == 8
    assert set(spec.images) == {"engine", "weights", "node_agent"}


def test_pooled_windows_cost_by_their_ratio(stack: Stack) -> None:
    """A tenth of a window token for every token: 18,432 + 8,806 bytes; the room is that of any engine."""
    few, many = (
        stack(
            preset="a4x-max-dynamo",
            accept_unverified=["kv-pool:swa_0.2"],
            overrides={"serving": {"engine": {"swa_full_tokens_ratio": ratio}}},
        ).derived
        for ratio in (0.2, 0.1)
    )
    assert few.kv_room_bytes_per_replica == many.kv_room_bytes_per_replica
    for derived, each in ((many, 18_432 + 8_806.4), (few, 18_432 + 17_612.8)):
        assert derived.kv_tokens_per_replica == derived.kv_room_bytes_per_replica // each // 64 * 64


def test_charts_follow_the_shape(stack: Stack) -> None:
    """What starts replicas over nodes, and what joins them, comes with the stacks that need it."""
    assert {name: set(stack(preset=name).charts) for name in ("g4-llmd", "g4-dynamo", "a4x-max-dynamo")} == {
        "g4-llmd": set(),
        "g4-dynamo": {"dynamo"},
        "a4x-max-dynamo": {"dra_driver", "dynamo"},
    }
    assert set(stack(preset="a4x-max-llmd").charts) == {"dra_driver", "leader_worker_set"}


def test_speculation_adds_its_drafter(stack: Stack) -> None:
    """The drafter's weights are loaded, seeded and counted beside the model's."""
    weights = {"kind": "bucket", "bucket": "acme-weights", "prefix": "beam/dflash2"}
    speculation = {"drafter": "dflash2", "tokens": 7, "weights": weights}
    spec = stack(accept_unverified=["speculation:dflash2"], overrides={"serving": {"speculation": speculation}})
    plain = stack()
    assert spec.derived.weights_bytes - plain.derived.weights_bytes == 3_860_000_000
    assert spec.derived.seed_budget_s > plain.derived.seed_budget_s
    assert set(spec.images) - set(plain.images) == {"drafter"}


def test_an_unknown_price_stays_unknown(stack: Stack) -> None:
    """No number is made up for a machine whose price was not read."""
    assert stack(preset="small-l4").derived.usd_per_hour is None
    assert stack(preset="g4-llmd-multi").derived.usd_per_hour == 72.0012
