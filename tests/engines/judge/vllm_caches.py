"""vLLM's own division of GPU memory into KV blocks, for a model's real layers."""

from __future__ import annotations

from typing import Any

import torch
from vllm.config import set_current_vllm_config
from vllm.v1.core.kv_cache_config_builder import get_kv_cache_config_builder
from vllm.v1.core.kv_cache_planning import (
    _estimate_max_model_len_from_groups,
    get_global_kv_cache_groups,
    get_kv_cache_configs,
)
from vllm.v1.core.kv_cache_utils import get_kv_cache_capacity
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheSpec, SlidingWindowSpec

__all__ = ["capacity", "kv_cache_config"]

_ANY_LENGTH = 1 << 28
_ELEMENTS = {"auto": torch.bfloat16, "fp8": torch.uint8, "fp8_e4m3": torch.uint8, "bfloat16": torch.bfloat16}


def capacity(config: Any, bytes_per_rank: int) -> dict[str, Any]:
    """Return blocks and tokens of one rank's KV cache as vLLM counts them, on a GPU."""
    config.scheduler_config.async_scheduling = True  # the default with a GPU; the CPU target switches it off
    with set_current_vllm_config(config):
        cache = kv_cache_config(config, bytes_per_rank)
        tokens, _ = get_kv_cache_capacity(config, cache)
        longest = _longest_request(config, cache, bytes_per_rank)
    return {
        "tokens": tokens,
        "longest_request_tokens": longest,
        "blocks": cache.num_blocks,
        "groups": len(cache.kv_cache_groups),
    }


def _longest_request(config: Any, cache: Any, bytes_per_rank: int) -> int:
    """What vLLM would say is the longest request, were none too long for the model."""
    usable = bytes_per_rank // cache.num_blocks * (cache.num_blocks - 1)  # it never gives one block out
    served, config.model_config.max_model_len = config.model_config.max_model_len, _ANY_LENGTH
    builder = get_kv_cache_config_builder(config)
    try:
        return _estimate_max_model_len_from_groups(builder, config, cache.kv_cache_groups, usable)
    finally:
        config.model_config.max_model_len = served


def kv_cache_config(config: Any, available_bytes: int) -> Any:
    """Return the KV cache that vLLM makes of ``available_bytes`` on every rank."""
    config.cache_config.kv_cache_layout = "LBNHC"  # the engine core asks the GPU's kernels; sizes are the same in all
    specs = _specs(config)
    groups = get_global_kv_cache_groups(config, [specs])
    return get_kv_cache_configs(config, [specs], [available_bytes], groups)[0]


def _specs(config: Any) -> dict[str, KVCacheSpec]:
    """One specification per attention layer, as the layers of the model and of its drafter make them."""
    specs = _of_model(config, config.model_config, "model")
    if config.speculative_config is not None and config.speculative_config.draft_model_config is not None:
        specs |= _of_model(config, config.speculative_config.draft_model_config, "draft")
    return specs


def _of_model(config: Any, model: Any, name: str) -> dict[str, KVCacheSpec]:
    hf = model.hf_text_config
    layers = getattr(hf, "layer_types", None) or ["full_attention"] * hf.num_hidden_layers
    common = {
        "block_size": config.cache_config.block_size,
        "num_kv_heads": model.get_num_kv_heads(config.parallel_config),
        "head_size": model.get_head_size(),
        "dtype": _ELEMENTS[config.cache_config.cache_dtype],
    }
    return {
        f"{name}.{number}": SlidingWindowSpec(**common, sliding_window=hf.sliding_window)
        if kind == "sliding_attention"
        else FullAttentionSpec(**common)
        for number, kind in enumerate(layers)
    }
