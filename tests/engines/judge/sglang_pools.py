"""SGLang's own division of GPU memory into pools of KV cache."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from sglang.srt import runtime_context
from sglang.srt.configs.model_config import ModelConfig
from sglang.srt.mem_cache.draft_kv_budget import resolve_dflash_draft_cell_size
from sglang.srt.mem_cache.hybrid_cache.hybrid_pool_assembler import _split_hicache_size
from sglang.srt.model_executor.pool_configurator import create_memory_pool_configurator
from sglang.srt.runtime_context import get_parallel, override_platform
from sglang.srt.speculative.spec_info import SpeculativeAlgorithm

__all__ = ["capacity"]

_DTYPES = {"auto": torch.bfloat16, "fp8_e4m3": torch.float8_e4m3fn}


def capacity(arguments: Any, bytes_per_rank: int, device: dict[str, Any]) -> dict[str, Any]:
    """Return tokens of one rank's pools as SGLang counts them.

    The pools are sized by SGLang's own configurator; it is told what a model runner would tell it.
    """
    with override_platform(**{**device, "device_capability": tuple(device["device_capability"])}):
        runtime_context._CONTEXT.set_server_args(arguments)
        resolved = arguments.resolved_dict()
        attention_ranks = max(1, resolved["attn_dp_size"] or 1)
        ranks = resolved["tp_size"] // attention_ranks
        with get_parallel().override(attn_tp_size=ranks, attn_dcp_size=1):
            runner = _runner(arguments, resolved, ranks, attention_ranks)
            configurator = create_memory_pool_configurator(runner)
            pools = configurator.calculate_pool_sizes(bytes_per_rank, resolved["page_size"])
    return {
        "host_tier_tokens": _host_tier(resolved, configurator, pools),
        "tokens": pools.max_total_num_tokens,
        "longest_request_tokens": pools.max_total_num_tokens,
        "window_tokens": pools.swa_max_total_num_tokens,
        "configurator": type(configurator).__name__,
        "drafter_bytes_per_token": runner.dflash_draft_cell_size_per_token,
        "drafter_backend": resolved["speculative_draft_attention_backend"],
    }


def _host_tier(resolved: dict[str, Any], configurator: Any, pools: Any) -> int | None:
    """Tokens of full layers in HiCache's host memory, which has a size of its own for each pool."""
    size = resolved["hicache_size"]
    if not size or not resolved["enable_hierarchical_cache"]:
        return None
    full, sliding = configurator._full_cell_bytes(), configurator._swa_cell_bytes()
    taken = (pools.full_max_total_num_tokens * full, pools.swa_max_total_num_tokens * sliding)
    of_full, _ = _split_hicache_size(size, tuple(SimpleNamespace(host_capacity_bytes=each) for each in taken))
    return int(of_full * 1e9 // full)


def _runner(arguments: Any, resolved: dict[str, Any], ranks: int, attention_ranks: int) -> SimpleNamespace:
    model = ModelConfig.from_server_args(arguments)
    algorithm = SpeculativeAlgorithm.from_string(resolved["speculative_algorithm"])
    draft_bytes = None
    if algorithm.is_dflash_family():
        draft = ModelConfig.from_server_args(
            arguments, model_path=resolved["speculative_draft_model_path"], is_draft_model=True
        )
        draft_bytes = resolve_dflash_draft_cell_size(
            draft_model_config=draft, draft_num_layers=draft.num_hidden_layers, attn_tp_size=ranks
        )
    full, sliding = model.full_attention_layer_ids or [], model.swa_attention_layer_ids or []
    return SimpleNamespace(
        kv_cache_dtype_str=resolved["kv_cache_dtype"],
        kv_cache_dtype=_DTYPES[resolved["kv_cache_dtype"]],
        model_config=model,
        layer_info=SimpleNamespace(full_attention_layer_ids=full, swa_attention_layer_ids=sliding),
        sliding_window_size=model.sliding_window_size,
        page_size=resolved["page_size"],
        spec_algorithm=algorithm,
        spec_aux_config=SimpleNamespace(),
        is_draft_worker=False,
        is_hybrid_swa=bool(sliding),
        attn_dp_size=attention_ranks,
        dflash_draft_cell_size_per_token=draft_bytes,
        fused_entry_bytes=lambda _: None,
    )
