"""What the KV cache of a replica holds, role by role: a preset's sizes put into its engine's arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

from stacks.kv_blocks import KvRoom, capped_pools, layer_groups, shared_pools, vllm_blocks, window_cap_tokens
from stacks.memory import GB, layer_bytes_per_token
from stacks.parallelism import data_parallel, gpus_per_replica
from stacks.row_lookup import Rows
from stacks.spec import PrefillDecode, Preset, SglangEngine, VllmEngine

__all__ = ["KvRooms", "host_tier_tokens", "kv_rooms", "ssd_tier_tokens"]


@dataclass(frozen=True)
class KvRooms:
    """Of one replica: workers that compute prompts, and decode workers where they are apart.

    ``longest_request_tokens`` is what a data parallel rank of either holds: ranks share no cache.
    """

    tokens: int
    decode_tokens: int | None
    longest_request_tokens: int


def kv_rooms(preset: Preset, rows: Rows, room: int) -> KvRooms:
    """Divide ``room`` bytes of a replica, of which every GPU has an equal part."""
    serving, ranks = preset.serving, data_parallel(preset.serving)
    per_rank = room // gpus_per_replica(serving)
    match serving.engine:
        case VllmEngine() as engine:
            prompts = decode = _vllm(preset, rows, engine, per_rank)
        case SglangEngine() as engine:
            prompts = _sglang(preset, rows, engine, per_rank, decodes_only=False)
            decode = _sglang(preset, rows, engine, per_rank, decodes_only=True)
    if not isinstance(serving.shape, PrefillDecode):
        return KvRooms(prompts.tokens * ranks, None, prompts.longest_request_tokens)
    longest = min(prompts.longest_request_tokens, decode.longest_request_tokens)
    return KvRooms(prompts.tokens * ranks, decode.tokens * ranks, longest)


def host_tier_tokens(preset: Preset, rows: Rows, size: int) -> int:
    """Tokens of a replica's tier of ``size`` bytes in host DRAM.

    vLLM keeps blocks of whole groups there; what it keeps of windows is not counted. SGLang, told a size in whole GB a
    rank, divides it among its pools as GPU memory is divided (srt/mem_cache/hybrid_cache/hybrid_pool_assembler.py).
    """
    match preset.serving.engine:
        case VllmEngine():
            return size // _full_bytes(preset, rows)
        case SglangEngine() as engine:
            ranks = gpus_per_replica(preset.serving)
            windows = engine.swa_full_tokens_ratio * rows.model.architecture.sliding_attention_layers
            of_token = _full_bytes(preset, rows) + windows * _layer_bytes(preset, rows)
            return int(size // ranks // GB * GB * ranks // of_token)


def ssd_tier_tokens(preset: Preset, rows: Rows, size: int) -> int:
    """Tokens of a replica's tier of ``size`` bytes on local SSD; what an engine keeps of windows is not counted."""
    return size // _full_bytes(preset, rows)


def _full_bytes(preset: Preset, rows: Rows) -> int:
    """Bytes of a token of a replica in full layers, of vLLM's those that fill a group up too."""
    model = rows.model.architecture
    grouped = isinstance(preset.serving.engine, VllmEngine)
    layers = layer_groups(model, rows.drafter).full_layers if grouped else model.full_attention_layers
    return layers * _layer_bytes(preset, rows)


def _layer_bytes(preset: Preset, rows: Rows) -> int:
    """Bytes of a token in one layer of all GPUs that share its heads."""
    ranks, dtype = _heads_shared_by(preset), preset.serving.kv_cache.dtype
    return ranks * layer_bytes_per_token(rows.model.architecture, dtype, ranks=ranks)


def _heads_shared_by(preset: Preset) -> int:
    """GPUs that share the KV heads of one attention rank; 1 where checks refuse more ranks than GPUs."""
    return max(1, gpus_per_replica(preset.serving) // data_parallel(preset.serving))


def _vllm(preset: Preset, rows: Rows, engine: VllmEngine, per_rank: int) -> KvRoom:
    """A drafter's layers get the target's cache configuration, and so its elements (models/beam/nvidia/dflash2.py)."""
    cache, model = preset.serving.kv_cache, rows.model.architecture
    return vllm_blocks(
        layer_groups(model, rows.drafter),
        bytes_per_rank=per_rank,
        layer_bytes_per_token=layer_bytes_per_token(model, cache.dtype, ranks=_heads_shared_by(preset)),
        block_tokens=cache.block_size_tokens,
        batched_tokens=engine.batched_tokens,
        context_tokens=preset.serving.context_tokens,
    )


def _sglang(preset: Preset, rows: Rows, engine: SglangEngine, per_rank: int, *, decodes_only: bool) -> KvRoom:
    serving, model = preset.serving, rows.model.architecture
    each = layer_bytes_per_token(model, serving.kv_cache.dtype, ranks=_heads_shared_by(preset))
    page, of_drafter = serving.kv_cache.block_size_tokens, _drafter_bytes(preset, rows)
    passed = {name for name, value in engine.extra_arguments.items() if value is not False}
    keeps_prefixes = not passed & set(rows.engine.no_prefix_cache_arguments)
    if keeps_prefixes and not decodes_only:
        return shared_pools(
            model,
            bytes_per_rank=per_rank,
            layer_bytes_per_token=each,
            drafter_bytes_per_token=of_drafter,
            page_tokens=page,
            window_ratio=engine.swa_full_tokens_ratio,
        )
    return capped_pools(
        model,
        bytes_per_rank=per_rank,
        layer_bytes_per_token=each,
        drafter_bytes_per_token=of_drafter,
        page_tokens=page,
        window_tokens=window_cap_tokens(
            model,
            page_tokens=page,
            sequences=max(1, engine.max_sequences // data_parallel(serving)),
            drafted_tokens=serving.speculation.tokens + 1 if serving.speculation else 0,
            prompt_tokens=None if decodes_only else engine.batched_tokens,
        ),
    )


def _drafter_bytes(preset: Preset, rows: Rows) -> int:
    """Bytes of a token in all layers of a drafter on one GPU of SGLang's.

    Its elements are the target's, but where the only kernels that it can take read none of one byte.
    """
    drafter, dtype = rows.drafter, preset.serving.kv_cache.dtype
    if drafter is None:
        return 0
    whole = drafter.sliding_window_tokens is None
    if whole and rows.hardware.gpu.compute_capability in rows.engine.unbounded_drafter_kv_bf16_on:
        dtype = "auto"
    return drafter.layers * layer_bytes_per_token(rows.model.architecture, dtype, ranks=_heads_shared_by(preset))
