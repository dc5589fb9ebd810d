"""How engines divide GPU memory, step by step, on figures that their own code gave or that add up by hand.

Every preset's figures are held against the engines' in tests/engines/test_kv_figures.py.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from stacks.catalog_files import load_catalog
from stacks.kv_blocks import (
    KvRoom,
    block_bytes,
    capped_pools,
    layer_groups,
    request_blocks,
    shared_pools,
    vllm_blocks,
    window_cap_tokens,
)
from stacks.kv_rooms import host_tier_tokens, kv_rooms, ssd_tier_tokens
from stacks.merging import merge
from stacks.preset_files import compose
from stacks.row_lookup import Rows, look_up
from stacks.rows import Architecture, Drafter
from stacks.spec import Preset

MODELS = load_catalog().models
BEAM, QWEN = MODELS["beam"].architecture, MODELS["qwen3-4b"].architecture
DFLASH2 = MODELS["beam"].drafters["dflash2"]
MILLION = 1_048_576


def _model(full: int, sliding: int) -> Architecture:
    return BEAM.model_copy(update={"full_attention_layers": full, "sliding_attention_layers": sliding})


@pytest.mark.parametrize(
    ("model", "drafter", "layers", "of_reach"),
    [
        (BEAM, None, 9, {None: 1, 512: 5}),
        (BEAM, DFLASH2, 5, {None: 2, 512: 9, 4096: 1}),
        (BEAM, DFLASH2.model_copy(update={"sliding_window_tokens": 512}), 9, {None: 1, 512: 6}),
        (BEAM, DFLASH2.model_copy(update={"sliding_window_tokens": None}), 14, {None: 1, 512: 4}),
        (QWEN, None, 36, {None: 1}),
        (_model(12, 13), None, 13, {None: 1, 512: 1}),
        (_model(10, 15), None, 10, {None: 1, 512: 2}),
        (_model(20, 30), None, 20, {None: 1, 512: 2}),
    ],
)
def test_layers_are_cut_into_groups_of_one_size(
    model: Architecture, drafter: Drafter | None, layers: int, of_reach: dict[int | None, int]
) -> None:
    """The rarest kind decides, unless kinds are nearly alike: below one and a half times, the larger one does."""
    groups = layer_groups(model, drafter)
    assert (groups.layers, groups.of_reach) == (layers, of_reach)


def test_what_a_request_holds_of_each_group() -> None:
    """Full groups: 1,048,576 / 64 = 16,384 blocks. Sliding ones: (511 + 2 x 8,192) / 64 = 263.98, and one more."""
    groups = layer_groups(BEAM, None)
    assert request_blocks(groups, MILLION, block_tokens=64, batched_tokens=8192) == 16_384 + 5 * (264 + 1)
    assert request_blocks(groups, 65, block_tokens=64, batched_tokens=8192) == 2 + 5 * (2 + 1)


@pytest.mark.parametrize(
    ("drafter", "size", "blocks", "tokens"),
    [(None, 24_805_602_199, 168_223, 9_960_731), (DFLASH2, 24_323_102_199, 296_912, 8_776_422)],
)
def test_a_rank_of_vllm(drafter: Drafter | None, size: int, blocks: int, tokens: int) -> None:
    """TP8, FP8 cache, blocks of 64, batches of 8,192, a context of 1,048,576: vLLM 0.33.0's own figures.

    By get_kv_cache_configs and get_kv_cache_capacity on 2026-11-30, for g4-llmd and g4-llmd-d2.
    """
    groups = layer_groups(BEAM, drafter)
    assert size // block_bytes(groups, block_tokens=64, layer_bytes_per_token=256) == blocks
    room = vllm_blocks(
        groups,
        bytes_per_rank=size,
        layer_bytes_per_token=256,
        block_tokens=64,
        batched_tokens=8192,
        context_tokens=MILLION,
    )
    assert room.tokens == tokens


def test_the_longest_request_leaves_a_block_and_its_windows() -> None:
    """Ten blocks: one is never given out, and of 65 tokens five sliding groups would take three each."""

    def longest(blocks: int) -> int:
        groups = layer_groups(BEAM, None)
        return vllm_blocks(
            groups,
            bytes_per_rank=blocks * block_bytes(groups, block_tokens=64, layer_bytes_per_token=256),
            layer_bytes_per_token=256,
            block_tokens=64,
            batched_tokens=8192,
            context_tokens=4096,
        ).longest_request_tokens

    assert (longest(0), longest(11), longest(12), longest(17)) == (0, 0, 64, 64)
    assert (longest(18), longest(1 + 16_384 + 5 * 265)) == (128, MILLION)


@pytest.mark.parametrize(
    ("element", "ratio", "drafter_element", "millions"),
    [
        (2, 0.8, 0, 4.2),
        (2, 0.8, 2, 3.7),
        (2, 0.1, 0, 13.6),
        (2, 0.1, 2, 9.9),
        (1, 0.8, 0, 8.3),
        (1, 0.8, 2, 6.8),
        (1, 0.8, 1, 7.5),
        (1, 0.1, 0, 27.2),
        (1, 0.1, 2, 15.5),
        (1, 0.1, 1, 19.7),
        (1, 0.05, 0, 32.4),
        (1, 0.05, 2, 17.1),
        (1, 0.05, 1, 22.4),
    ],
)
def test_tokens_of_pools_of_one_size(element: int, ratio: float, drafter_element: int, millions: float) -> None:
    """Tokens in 740 GB of KV cache, as computed from SGLang's source by others, with and without a drafter.

    The presets have 695 GB of it: ours leaves out 6 GB a GPU that the engine keeps for itself.
    """
    room = shared_pools(
        BEAM,
        bytes_per_rank=740 * 10**9,
        layer_bytes_per_token=2 * 8 * 128 * element,
        drafter_bytes_per_token=5 * 2 * 8 * 128 * drafter_element,
        page_tokens=64,
        window_ratio=ratio,
    )
    assert room.tokens / 1e6 == pytest.approx(millions, abs=0.06)
    assert room.tokens % 64 == 0


@pytest.mark.parametrize(
    ("sequences", "drafted", "prompt", "each", "besides"),
    [
        (128, 0, None, 512 + 128 + 64 + 64, 0),
        (33, 0, None, 512 + 128 + 64 + 64, 0),
        (32, 0, None, 512 + 128 + 64 + 64, 2 * 32 * (512 + 64)),
        (128, 8, None, 512 + 128 * 8 + 64 + 2 * 8, 0),
        (64, 0, 16_384, 512 + 128 + 64 + 64, 2 * 16_384 + 64),
    ],
)
def test_windows_of_running_sequences(
    sequences: int, drafted: int, prompt: int | None, each: int, besides: int
) -> None:
    """What a sequence has, and what there is besides: requests that arrive where few run, or chunks of prompts."""
    tokens = window_cap_tokens(BEAM, page_tokens=64, sequences=sequences, drafted_tokens=drafted, prompt_tokens=prompt)
    assert tokens == -(-(sequences * each + besides) // 64) * 64


def test_full_layers_get_what_windows_leave() -> None:
    """A worker of four GPUs: 2 x 2 heads x 128 bytes a token in a layer of a rank. No window, no drafter: all of it."""
    windows = {"page_tokens": 64, "layer_bytes_per_token": 512, "drafter_bytes_per_token": 0}
    room = capped_pools(BEAM, bytes_per_rank=10**9, window_tokens=6400, **windows)
    assert room.tokens == (10**9 - 6400 * 43 * 512) // (9 * 512) // 64 * 64
    assert capped_pools(QWEN, bytes_per_rank=10**9, window_tokens=6400, **windows).tokens == 10**9 // 18_432 // 64 * 64


def test_no_room_holds_nothing() -> None:
    """A stack that cannot fit still gets numbers."""
    nothing = KvRoom(0, 0)
    sizes = {"layer_bytes_per_token": 512, "drafter_bytes_per_token": 0, "page_tokens": 64}
    assert shared_pools(BEAM, bytes_per_rank=-1, window_ratio=0.1, **sizes) == nothing
    assert capped_pools(BEAM, bytes_per_rank=1000, window_tokens=6400, **sizes) == nothing
    groups = layer_groups(BEAM, None)
    assert nothing == vllm_blocks(
        groups,
        bytes_per_rank=-5,
        layer_bytes_per_token=256,
        block_tokens=64,
        batched_tokens=8192,
        context_tokens=MILLION,
    )


def _beam(**serving: Any) -> tuple[Preset, Rows]:
    data, origins = compose("a4x-max-dynamo-d2", key="preset", where="")
    preset = Preset.model_validate(merge(data, {"serving": serving}, origins, "test"))
    rows = look_up(preset, load_catalog(), [])
    assert rows is not None
    return preset, rows


@pytest.mark.parametrize(("window", "dtype", "of_drafter"), [(4096, "fp8", 1), (None, "fp8", 2), (None, "auto", 2)])
def test_a_drafter_without_a_window_keeps_bf16_on_metal(window: int | None, dtype: str, of_drafter: int) -> None:
    """SGLang falls back to kernels that read nothing else there: five layers of 2 x 2 heads x 128 elements a rank."""
    preset, rows = _beam(kv_cache={"dtype": dtype})
    assert rows.drafter is not None
    rows = dataclasses.replace(rows, drafter=rows.drafter.model_copy(update={"sliding_window_tokens": window}))
    element, room = (1 if dtype == "fp8" else 2), 10**11
    each = (9 + 0.08 * 43) * 512 * element + 5 * 512 * of_drafter
    assert kv_rooms(preset, rows, 4 * room).tokens == int(room // each) // 64 * 64


def test_tiers_in_host_memory() -> None:
    """vLLM: 9 full layers of 2,048 bytes, 10 with the drafter. SGLang: 107 whole GB on each of four ranks."""
    preset, rows = _beam()
    size = 400 * 2**30
    assert host_tier_tokens(preset, rows, size) == int(4 * 107 * 10**9 // ((9 + 0.08 * 43) * 2048))
    assert host_tier_tokens(preset, rows, 4 * 10**9 - 1) == 0
    assert ssd_tier_tokens(preset, rows, size) == size // (9 * 2048)
    engine = {"kind": "vllm", "version": "0.33.0", "max_sequences": 64, "batched_tokens": 8192}
    preset, rows = _beam(engine={**engine, "gpu_memory_utilization": 0.9})
    for tokens in (host_tier_tokens, ssd_tier_tokens):
        assert tokens(preset, rows, size) == size // (10 * 2048)
        assert tokens(preset, dataclasses.replace(rows, drafter=None), size) == size // (9 * 2048)
