"""Derived numbers: whole tables for the shipped presets, and laws that hold for every composition."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from stacks import StackSpec
from stacks.derive import DRAIN_PAUSE_S, MARGIN_S, Derived
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
    return [stack(overrides=overrides) for overrides in changes] + [stack(preset="small-l4")]


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
        per_node = min(d.replicas_per_node, spec.preset.serving.shape.replicas)
        assert d.replicas_per_node * spec.preset.serving.shape.tensor_parallel <= gpus
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
    assert some.offload_tokens_per_replica == 90 * 2**30 // some.kv_bytes_per_token
    assert some.kv_room_bytes_per_replica == none.kv_room_bytes_per_replica


def test_kv_room_is_what_others_computed(stack: Stack) -> None:
    """At 0.90 of the driver's memory, FP8 on eight GPUs leaves 182 GB, NVFP4 on four 52 GB (sized by others)."""
    utilization = {"serving": {"engine": {"gpu_memory_utilization": 0.9}}}
    fp8 = stack(overrides=utilization)
    nvfp4 = stack(preset="g4-llmd-nvfp4", accept_unverified=["precision:nvfp4"], overrides=utilization)
    assert fp8.derived.kv_room_bytes_per_replica / 1e9 == pytest.approx(182, abs=0.5)
    assert nvfp4.derived.kv_room_bytes_per_replica / 1e9 == pytest.approx(52, abs=0.5)


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
