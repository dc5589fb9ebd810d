"""Memory arithmetic against figures that others publish or that were computed elsewhere."""

from __future__ import annotations

import datetime as dt

import pytest

from stacks.catalog_files import load_catalog
from stacks.memory import (
    GB,
    GIB,
    KUBELET_EVICTS_BELOW,
    allocatable_cpu_millicores,
    allocatable_ephemeral_gib,
    allocatable_memory_gib,
    ephemeral_floor_bytes,
    kv_bytes_per_token,
    kv_window_bytes_per_sequence,
    layer_bytes_per_token,
)
from stacks.rows import MachineShape

BEAM = load_catalog().models["beam"].architecture


def _machine(vcpus: int, memory_gb: int) -> MachineShape:
    return MachineShape(
        vcpus=vcpus,
        memory_gb=memory_gb,
        arch="amd64",
        network_gbps=1,
        source="test",
        as_of=dt.date(2026, 11, 29),
    )


def test_kv_of_beam() -> None:
    """18 and 36 KiB a token in nine full layers; 45 and 90 MB a sequence in 43 windows of 512 tokens."""
    assert (kv_bytes_per_token(BEAM, "fp8"), kv_bytes_per_token(BEAM, "auto")) == (18 * 1024, 36 * 1024)
    assert kv_window_bytes_per_sequence(BEAM, "fp8") == 43 * 512 * 2 * 8 * 128 == 45_088_768
    assert kv_window_bytes_per_sequence(BEAM, "auto") == 90_177_536


@pytest.mark.parametrize(
    ("tokens", "gigabytes"),
    [(104_600, 1.93), (205_000, 3.78), (714_000, 13.2), (1_000_000, 18.4)],
)
def test_kv_of_agent_sessions(tokens: int, gigabytes: float) -> None:
    """Sessions of a public agent workload, sized by others for FP8 KV."""
    assert tokens * kv_bytes_per_token(BEAM, "fp8") / GB == pytest.approx(gigabytes, rel=0.01)


def test_memory_that_gke_leaves_on_metal() -> None:
    """960 GB are 894 GiB, of which GKE keeps 24.6."""
    total = 960e9 / 2**30
    assert allocatable_memory_gib(_machine(144, 960)) == 869 == int(total - 9.32 - (total - 128) * 0.02 - 0.1)


SEEN = {name: row for name, row in load_catalog().hardware.items() if row.allocatable}


@pytest.mark.parametrize("name", SEEN)
def test_the_formulas_are_on_the_safe_side_of_real_nodes(name: str) -> None:
    """What a node was seen to leave is never less than what we plan with, and at most a twentieth more."""
    seen, machine = SEEN[name].allocatable, SEEN[name].machine
    assert seen is not None
    assert 0.95 * seen.memory_gib <= allocatable_memory_gib(machine) <= seen.memory_gib
    if seen.cpu_millicores is not None:
        assert allocatable_cpu_millicores(machine) == seen.cpu_millicores


@pytest.mark.parametrize(("ranks", "heads"), [(1, 8), (4, 2), (8, 1), (16, 1)])
def test_a_rank_has_its_heads_and_at_least_one(ranks: int, heads: int) -> None:
    """Eight KV heads of 128: keys and values, one byte an element; of sixteen ranks two have the same head."""
    assert layer_bytes_per_token(BEAM, "fp8", ranks=ranks) == 2 * heads * 128
    assert layer_bytes_per_token(BEAM, "auto", ranks=ranks) == 4 * heads * 128


def test_kv_of_a_dense_model() -> None:
    """Qwen3 4B has no windows: 36 layers x 2 x 8 heads x 128 x 2 bytes."""
    qwen = load_catalog().models["qwen3-4b"].architecture
    assert (kv_bytes_per_token(qwen, "auto"), kv_window_bytes_per_sequence(qwen, "auto")) == (147_456, 0)


@pytest.mark.parametrize(
    ("vcpus", "millicores"),
    [(1, 940), (2, 1930), (4, 3920), (8, 7910), (16, 15890), (384, 382970)],
)
def test_cpu_that_gke_leaves(vcpus: int, millicores: int) -> None:
    """The table of GKE's docs: 6 % of the first core, 1 % of the second, 0.5 % of two more, 0.25 % of the rest."""
    assert allocatable_cpu_millicores(_machine(vcpus, 4)) == millicores


def test_memory_that_gke_leaves() -> None:
    """25, 20, 10, 6 and 2 % bands and 100 MiB: worked by hand for 16 GiB (2.6 GiB kept) and a G4 node."""
    sixteen_gib_in_gb = 17
    total = sixteen_gib_in_gb * 1e9 / 2**30
    assert allocatable_memory_gib(_machine(4, sixteen_gib_in_gb)) == int(total - 1 - 0.8 - (total - 8) * 0.1 - 0.1)
    g4 = 1440e9 / 2**30
    assert allocatable_memory_gib(_machine(384, 1440)) == int(g4 - (1 + 0.8 + 0.8 + 6.72 + (g4 - 128) * 0.02) - 0.1)


@pytest.mark.parametrize(("disks", "gib"), [(0, 0), (1, 287), (2, 600), (3, 912), (4, 1250), (16, 5300), (32, 10700)])
def test_ephemeral_storage_that_gke_leaves(disks: int, gib: int) -> None:
    """10 % for eviction, and 50, 75 or 100 GiB, of disks of 375 GiB."""
    assert allocatable_ephemeral_gib(disks, 375) == gib


@pytest.mark.parametrize(("count", "gib"), [(1, 375), (2, 375), (4, 3000), (16, 375), (32, 375)])
def test_a_tier_gives_way_before_the_kubelet_evicts_and_not_before_it_must(count: int, gib: int) -> None:
    """Pods that take all they may leave the floor free, and as much again as half of what GKE keeps for the system."""
    disk, floor = count * gib * GIB, ephemeral_floor_bytes(count, gib)
    assert disk * KUBELET_EVICTS_BELOW < floor < disk - allocatable_ephemeral_gib(count, gib) * GIB
    assert ephemeral_floor_bytes(4, 3000) == (1200 + 50) * GIB
