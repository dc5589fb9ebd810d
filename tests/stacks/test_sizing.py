"""Sizes against arithmetic done by hand, and against what others computed for the same shapes; parts add up."""

from __future__ import annotations

from typing import Any

import pytest

from stacks import ProblemsFound
from stacks.catalog_files import load_catalog
from stacks.derive import derive
from stacks.memory import GB, GIB
from stacks.merging import merge
from stacks.preset_files import compose, preset_names
from stacks.row_lookup import look_up
from stacks.sizing import MEDIAN_SESSION_TOKENS, Figure, Sizing, default_session, size, stated_session
from stacks.spec import Preset
from tests.stacks.conftest import Stack

FP8_TOKEN = 18_432
FP8_WINDOW = 45_088_768


def sized(name: str, overrides: dict[str, Any] | None = None, tokens: int | None = None) -> Sizing:
    """Size a preset with changes, checks aside: what does not fit has figures, too."""
    data, origins = compose(name, key="preset", where="")
    preset = Preset.model_validate(merge(data, overrides or {}, origins, "test"))
    rows = look_up(preset, load_catalog(), [])
    assert rows is not None
    session = stated_session(tokens) if tokens else default_session(preset.serving.context_tokens)
    return size(preset, rows, derive(preset, rows), session)


def figures(sizing: Sizing, section: str) -> dict[str, Figure]:
    (found,) = [each for each in sizing.sections if each.name == section]
    return {figure.name: figure for figure in found.figures}


def values(sizing: Sizing, section: str) -> dict[str, Any]:
    return {name: figure.value for name, figure in figures(sizing, section).items()}


def serving(**changes: Any) -> dict[str, Any]:
    return {"serving": changes}


def shape(tp: int, **more: Any) -> dict[str, Any]:
    return {"kind": "aggregated", "replicas": 1, "tensor_parallel": tp, "expert_parallel": False, **more}


VLLM = {
    "kind": "vllm",
    "version": "0.33.0",
    "max_sequences": 64,
    "batched_tokens": 8192,
    "gpu_memory_utilization": 0.9,
}
OTHERS: dict[str, tuple[str, str, int, float, float, int, int]] = {
    # preset to take the hardware from, checkpoint, GPUs; KV room in GB, tokens in millions and sessions of 205k as
    # others sized them for FP8 KV at 0.90 with 6 GB beside (sessions without windows of running sequences); ours
    "GB300 TP4 NVFP4": ("a4x-max-dynamo", "nvfp4", 4, 755, 41.0, 200, 184),
    "GB300 TP4 FP8": ("a4x-max-dynamo", "fp8", 4, 540, 29.3, 143, 132),
    "GB300 TP8 BF16": ("a4x-max-dynamo", "bf16", 8, 1096, 59.4, 290, 268),
    "G4 TP4 NVFP4": ("g4-llmd", "nvfp4", 4, 52, 2.8, 14, 12),
    "G4 TP8 NVFP4": ("g4-llmd", "nvfp4", 8, 397, 21.5, 105, 97),
    "G4 TP8 FP8": ("g4-llmd", "fp8", 8, 182, 9.9, 48, 44),
}


@pytest.mark.parametrize("name", OTHERS)
def test_shapes_that_others_have_sized(name: str) -> None:
    """The room is theirs within 1 %. Tokens and sessions are fewer here by what vLLM counts to a request besides.

    Of 1,048,576 tokens one has 16,384 blocks of full layers, and 5 x 265 of sliding ones (test_kv_blocks.py).
    """
    preset, checkpoint, gpus, room_gb, millions, theirs, ours = OTHERS[name]
    found = sized(preset, {"model": {"checkpoint": checkpoint}} | serving(engine=VLLM, shape=shape(gpus)))
    hbm = found.tiers[0]
    assert hbm.bytes_per_replica / GB == pytest.approx(room_gb, rel=0.01)
    assert hbm.bytes_per_replica / FP8_TOKEN / 1e6 == pytest.approx(millions, rel=0.015)
    assert hbm.bytes_per_replica / (205_000 * FP8_TOKEN) == pytest.approx(theirs, abs=1)
    share = 16_384 / (16_384 + 5 * 265)
    assert hbm.tokens_per_replica == pytest.approx(share * hbm.bytes_per_replica / FP8_TOKEN, rel=1e-4)
    assert hbm.sessions_per_replica == ours


def test_a_pool_of_sglang_holds_fewer_tokens_than_its_bytes_would() -> None:
    """41.0 million tokens by others: full layers alone. A tenth of a token's sliding layers is pooled with each."""
    engine = {"gpu_memory_utilization": 0.9, "swa_full_tokens_ratio": 0.1}
    hbm = sized("a4x-max-dynamo", serving(engine=engine)).tiers[0]
    each = FP8_TOKEN + 43 * 2 * 8 * 128 / 10
    assert each == 27_238.4
    assert hbm.tokens_per_replica == hbm.bytes_per_replica // each // 64 * 64
    assert (hbm.tokens_per_replica // 100_000, hbm.sessions_per_replica) == (277, 135)


@pytest.mark.parametrize(
    ("tokens", "gigabytes"), [(104_600, 1.93), (205_000, 3.78), (714_000, 13.2), (1_000_000, 18.4)]
)
def test_sessions_that_others_have_sized(tokens: int, gigabytes: float) -> None:
    session = values(sized("g4-llmd", tokens=tokens), "kv_cache")["session"]
    assert session == tokens * FP8_TOKEN
    assert session / GB == pytest.approx(gigabytes, rel=0.01)


@pytest.mark.parametrize(("gib", "tokens", "sessions"), [(186, 10_835_285, 52), (745, 43_399_395, 211)])
def test_host_tiers_that_others_have_sized(gib: int, tokens: int, sessions: int) -> None:
    """200 and 800 GB, about 11 and 43 million tokens, 53 and 212 sessions; tiers here are whole GiB, a little less."""
    offload = {"kind": "host_dram", "gib_per_replica": gib}
    tier = sized("g4-llmd", serving(kv_cache={"offload": offload})).tiers[1]
    assert (tier.tokens_per_replica, tier.sessions_per_replica) == (tokens, sessions)


def test_decoding_by_hand() -> None:
    """FP8 on eight RTX PRO 6000: 12,776 GB/s over 23.73 GB of active weights and 3.82 GB of KV cache."""
    found = values(sized("g4-llmd", serving(engine={"max_sequences": 4})), "decode")
    active = 509_000_000_000 * 23_370_000_000 // 501_270_000_000
    kv = 205_000 * FP8_TOKEN + FP8_WINDOW
    assert (found["hbm_bandwidth"], found["active_weights"]) == (8 * 1597, active)
    assert found["one_sequence"] == round(12_776e9 / (active + kv), 1) == 463.7
    assert found["batch"] == round(4 * 12_776e9 / (active + 4 * kv), 1)
    assert found["batch_reading_all_weights"] == round(4 * 12_776e9 / (509e9 + 4 * kv), 1)
    assert found["batch_reading_all_weights"] < found["one_sequence"] < found["batch"]


def test_no_bound_for_sessions_that_do_not_fit() -> None:
    found = values(sized("small-l4", tokens=60_000), "decode")
    assert (found["batch"], found["batch_reading_all_weights"]) == (None, None)
    assert found["one_sequence"] is not None


CHANGES: dict[str, dict[str, Any]] = {
    "as shipped": {},
    "raw block": {"accelerator_pools": {"main": {"local_ssd_mode": "raw_block"}}},
    "mounted weights": {"model": {"storage": {"kind": "gcs_fuse"}}},
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", preset_names())
def test_parts_add_up(name: str, change: str) -> None:
    """To a GPU's memory, to what GKE leaves of a node's, and to a node's disks."""
    found = sized(name, CHANGES[change])
    gpu = values(found, "gpu_memory")
    assert gpu["memory"] == sum(gpu[part] for part in ("weights", "engine_overhead", "kv_pool", "free"))
    for role in {tier.role for tier in found.tiers}:
        host, disk = values(found, f"host_memory_{role}"), values(found, f"local_ssd_{role}")
        assert host["memory"] == host["kept_by_gke"] + host["allocatable"]
        assert host["allocatable"] == sum(host[part] for part in ("pods", "huge_pages", "left"))
        assert host["host_tier"] <= host["pods"]
        assert host["shm"] <= host["pods"]
        parts = ("kept", "weights", "caches", "mounted_weights", "kv_tier", "free")
        assert disk["size"] == sum(disk[part] for part in parts)


@pytest.mark.parametrize("name", preset_names())
def test_every_figure_is_explained_and_unknown_is_said(name: str) -> None:
    found = sized(name)
    for figure in (figure for section in found.sections for figure in section.figures):
        assert figure.formula
        assert (figure.value is None) == (figure.basis == "unknown")
    assert all(tier.formula for tier in found.tiers)


def test_a_model_without_sliding_layers() -> None:
    """Qwen3 4B: 36 full layers in bf16; a session is at most what is served."""
    found = sized("small-l4")
    kv = figures(found, "kv_cache")
    assert (kv["token"].value, kv["windows_of_a_sequence"].value) == (36 * 2 * 8 * 128 * 2, 0)
    assert kv["windows_of_a_sequence"].formula == "no sliding layers"
    assert found.session.tokens == 32_768 < MEDIAN_SESSION_TOKENS
    blocks = found.tiers[0].bytes_per_replica // (16 * 147_456)
    assert found.tiers[0].tokens_per_replica == 16 * blocks


def test_an_unknown_price_stays_unknown() -> None:
    price = figures(sized("a4x-max-dynamo"), "price")
    assert {figure.value for figure in price.values()} == {None}
    assert {figure.basis for figure in price.values()} == {"unknown"}
    assert "8 x unknown (a4x-maxgpu-4g-metal, reservation)" in price["accelerator_nodes"].formula


def test_a_known_price_is_shared_by_replicas() -> None:
    nodes = {"accelerator_pools": {"main": {"nodes": 2}}}
    price = values(sized("g4-llmd", nodes | serving(shape={"replicas": 2})), "price")
    assert price == {"accelerator_nodes": 72.0012, "replica": 36.0006, "one_year": None, "three_years": None}


def told(found: Sizing) -> list[tuple[str, str, int, int]]:
    return [(tier.tier, tier.role, tier.replicas, tier.bytes_per_replica // GIB) for tier in found.tiers]


def test_without_a_tier_there_is_nothing_below() -> None:
    found = sized("g4-llmd", serving(kv_cache={"offload": {"kind": "none"}}))
    assert told(found) == [("hbm", "worker", 1, 184), ("host_dram", "worker", 1, 0), ("local_ssd", "worker", 1, 0)]
    assert (found.tiers[1].formula, found.tiers[1].basis) == ("the preset has no such tier", "preset")
    assert values(found, "host_memory_worker")["host_tier"] == 0


def test_two_tiers_are_counted_each() -> None:
    offload = {"kind": "tiered", "host_dram_gib_per_replica": 200, "local_ssd_gib_per_replica": 4000}
    found = sized("g4-llmd", serving(kv_cache={"offload": offload}))
    assert told(found)[1:] == [("host_dram", "worker", 1, 200), ("local_ssd", "worker", 1, 4000)]
    assert values(found, "local_ssd_worker")["kv_tier"] == 4000 * GIB
    assert values(found, "host_memory_worker")["host_tier"] == 200 * GIB


def test_of_prefill_and_decode_only_prefill_has_a_tier() -> None:
    """Decode pods keep the longest request aside in host memory instead; sessions are counted where prefixes are."""
    parts = {
        "kind": "prefill_decode",
        "prefill_replicas": 3,
        "decode_replicas": 5,
        "tensor_parallel": 4,
        "expert_parallel": False,
    }
    offload = {"kind": "local_ssd", "gib_per_replica": 4000}
    found = sized("a4x-max-dynamo", serving(shape=parts, kv_cache={"offload": offload}))
    assert [(tier.tier, tier.role, tier.replicas) for tier in found.tiers] == [
        ("hbm", "prefill", 3),
        ("host_dram", "prefill", 3),
        ("local_ssd", "prefill", 3),
        ("hbm", "decode", 5),
    ]
    assert values(found, "local_ssd_prefill")["kv_tier"] == 4000 * GIB
    assert values(found, "local_ssd_decode")["kv_tier"] == 0
    assert found.verdicts[0].why.startswith("3 prefill replicas hold ")


def test_a_replica_over_two_nodes_has_half_of_everything_on_each() -> None:
    offload = {"kind": "local_ssd", "gib_per_replica": 4000}
    found = sized("a4x-max-dynamo", serving(shape=shape(8, replicas=4), kv_cache={"offload": offload}))
    assert values(found, "local_ssd_worker")["kv_tier"] == 2000 * GIB
    assert values(found, "gpu_memory")["weights"] == 294_000_000_000 // 8


def test_a_context_lies_in_one_data_parallel_rank() -> None:
    """Eight ranks of one GPU: what is in one of them is not in another, and a longer session fits nowhere."""
    whole = {"kind": "aggregated", "replicas": 1, "tensor_parallel": 1, "data_parallel": 8, "expert_parallel": True}
    found = sized("g4-llmd", serving(shape=whole, engine=VLLM))
    rank = found.tiers[0].tokens_per_replica // 8
    assert found.tiers[0].sessions_per_replica == 8 * (rank // 205_000)
    assert sized("g4-llmd", serving(shape=whole, engine=VLLM), tokens=rank + 1).tiers[0].sessions_per_replica == 0


def test_without_local_ssd_nothing_is_read_from_it() -> None:
    none = {"accelerator_pools": {"main": {"local_ssd_count": 0}}, "model": {"storage": {"kind": "gcs_fuse"}}}
    found = sized("g4-llmd", none)
    assert list(values(found, "local_ssd_worker")) == ["disks"]
    assert values(found, "tier_bandwidth")["local_ssd_read"] is None
    assert found.verdicts[2].verdict == "no room"


VERDICTS = {
    "g4-llmd": ("can pay", "can pay"),
    "g4-llmd-nvfp4": ("can pay", "can pay"),
    "a4x-max-dynamo": ("adds little", "can pay"),
    "a4x-max-dynamo-bf16": ("adds little", "can pay"),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_which_tier_can_pay(name: str) -> None:
    """On GB300, GPU memory is larger than the node's DRAM; on G4 it is smaller."""
    hbm, host, ssd = sized(name).verdicts
    assert (hbm.verdict, host.verdict, ssd.verdict) == ("holds", *VERDICTS[name])
    larger = "more than its 960.00 GB of DRAM" if name.startswith("a4x") else "less than its 1,440.00 GB of DRAM"
    assert larger in host.why


@pytest.mark.parametrize(("kind", "rule"), [("host_dram", "host-memory"), ("local_ssd", "local-ssd-capacity")])
@pytest.mark.parametrize("preset", ["g4-llmd", "a4x-max-dynamo"])
def test_the_largest_tier_is_what_the_checks_let_through(stack: Stack, preset: str, kind: str, rule: str) -> None:
    """A tier of that size fits the node, one of a GiB more does not: sizes and checks do the same arithmetic."""
    largest = {verdict.tier: verdict.largest_gib_per_node for verdict in sized(preset).verdicts}[kind]
    assert largest is not None

    def rules(gib: int) -> set[str]:
        offload = {"kind": kind, "gib_per_replica": gib}
        features = {"accept_unverified": [f"kv-offload:{kind}"]}
        try:
            found = stack(preset=preset, overrides=serving(kv_cache={"offload": offload}), **features).problems
        except ProblemsFound as refused:
            found = refused.problems
        return {problem.rule for problem in found}

    assert rule not in rules(largest)
    assert rule in rules(largest + 1)
