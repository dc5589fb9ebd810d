"""SGLang's command line under Dynamo, from the types, for each role.

What the preset leaves open is left to the engine: it picks attention and expert kernels by model, precision and GPU.
A decode worker gets its KV cache from prefill workers: it computes no prompt and keeps no prefix, so nothing about
chunks, prefix cache, its events or its tiers is said to it. SGLang then sizes the sliding-window cache by the number of
running requests.
Attention ranks share the replica's GPUs: batch and running requests are those of all together, and the engine gives
each its part; the bound of waiting requests is each rank's own.
Source: SGLang 0.5.23, srt/arg_groups/fields, srt/arg_groups/*_hook.py, srt/model_executor/pool_configurator.py
(SWARequestCapPoolConfigurator)
"""

from __future__ import annotations

from typing import Any

from manifests.chosen import dynamo_release, sglang_engine
from manifests.dynamo.bands import has_priorities
from manifests.dynamo.kv_events import kv_events
from manifests.dynamo.parsers import worker_arguments
from manifests.flags import flags
from manifests.kv_tier import has_local_ssd_tier
from manifests.weight_sets import drafter_weights, model_weights
from stacks.memory import GB, GIB
from stacks.parallelism import data_parallel
from stacks.resolve import StackSpec
from stacks.roles import Role
from stacks.spec import PrefillDecode

__all__ = ["sglang_arguments"]

_RETRACTION = {"disaggregation-decode-retraction-backup": "cpu_tensor"}
"""Where a decode worker that runs out of KV cache keeps a request's: in memory taken when it is needed. SGLang's own
choice pins a fifth of the GPU's cache size at start, in every rank, which no pod here has (srt/mem_cache/
kv_cache_builder.py)."""
_KV_DTYPES = {"auto": None, "fp8": "fp8_e4m3"}


def sglang_arguments(spec: StackSpec, role: Role) -> list[str]:
    """Arguments of ``python3 -m dynamo.sglang``. Of several nodes, the operator adds rank and rendezvous."""
    serving, engine = spec.preset.serving, sglang_engine(spec)
    tp = serving.shape.tensor_parallel
    return flags(
        {
            "model-path": model_weights(spec).path,
            "served-model-name": spec.rows.model.served_name,
            "tp-size": tp,
            **_attention_ranks(spec),
            **_experts(spec),
            "context-length": serving.context_tokens,
            "max-running-requests": engine.max_sequences,
            **_waiting(spec),
            **_priorities(spec),
            "mem-fraction-static": engine.gpu_memory_utilization,
            "kv-cache-dtype": _KV_DTYPES[serving.kv_cache.dtype],
            "page-size": serving.kv_cache.block_size_tokens,
            **_prompts(spec, role),
            **_disaggregation(spec, role),
            **_tier(spec, role),
            **_speculation(spec),
            **worker_arguments(spec),
            # A first forward pass may compile its kernels; that is slow, not stuck.
            "watchdog-timeout": spec.derived.compile_s,
            "enable-metrics": True,
            **engine.extra_arguments,
        }
    )


def _priorities(spec: StackSpec) -> dict[str, Any]:
    """A request without a priority is in the band of 0. SGLang would put it behind all others (scheduler.py:
    _set_or_validate_priority).
    """
    if not has_priorities(spec.preset.serving.routing):
        return {}
    return {"enable-priority-scheduling": True, "default-priority-value": 0}


def _attention_ranks(spec: StackSpec) -> dict[str, Any]:
    """With several, a drafter borrows the head of its own rank, which then has to be there."""
    ranks = data_parallel(spec.preset.serving)
    if ranks == 1:
        return {}
    return {"attn-dp-size": ranks, "enable-dp-lm-head": spec.preset.serving.speculation is not None}


def _experts(spec: StackSpec) -> dict[str, Any]:
    """Experts whole on their ranks, by the only way the model's row has for it; tokens travel to them."""
    shape, needs = spec.preset.serving.shape, spec.rows.model.engines["sglang"].expert_parallel_needs
    if not shape.expert_parallel:
        return {}
    return {"ep-size": shape.tensor_parallel, **(needs.arguments if needs else {})}


def _waiting(spec: StackSpec) -> dict[str, Any]:
    """More than these are refused at once. Prefill and decode workers of their own pass it over, so they get none."""
    waiting, serving = sglang_engine(spec).max_waiting_requests, spec.preset.serving
    if waiting is None or isinstance(serving.shape, PrefillDecode):
        return {}
    return {"max-queued-requests": max(1, waiting // data_parallel(serving))}


def _prompts(spec: StackSpec, role: Role) -> dict[str, Any]:
    """What only a worker that computes prompts, and keeps their prefixes, needs."""
    if role.name == "decode":
        return {}
    engine = sglang_engine(spec)
    return {
        "chunked-prefill-size": engine.batched_tokens,
        "max-prefill-tokens": engine.batched_tokens,
        "swa-full-tokens-ratio": engine.swa_full_tokens_ratio,
        "kv-events-config": kv_events(spec),
    }


def _disaggregation(spec: StackSpec, role: Role) -> dict[str, Any]:
    transport = spec.rows.transport
    if role.name == "worker" or transport is None:
        return {}
    # Decode workers call the prefill worker's address; SGLang listens on loopback unless told otherwise.
    listening = {"host": "0.0.0.0", "disaggregation-bootstrap-port": dynamo_release(spec).ports.bootstrap}  # noqa: S104
    return {
        "disaggregation-mode": role.name,
        "disaggregation-transfer-backend": transport.kv_transfer[spec.rows.engine.kind],
        **(listening if role.name == "prefill" else _RETRACTION),
    }


def _tier(spec: StackSpec, role: Role) -> dict[str, Any]:
    """HiCache. Its size is of one rank, in GB of 10^9 bytes (srt/mem_cache/pool_host/base.py); 0 would be no size.

    Blocks are copied as they are made: on eviction only, sliding windows would be lost (sgl-project/sglang#28468).
    """
    if not role.tiered:
        return {}
    staging_bytes = spec.rows.engine.offload.local_ssd_staging_gib_per_rank * GIB
    host = _hicache(spec.derived.host_tier_bytes_per_rank or staging_bytes)
    return {**host, "hicache-storage-backend": "file"} if has_local_ssd_tier(spec) else host


def _hicache(size_bytes: int) -> dict[str, Any]:
    return {
        "enable-hierarchical-cache": True,
        "hicache-size": size_bytes // GB,
        "hicache-write-policy": "write_through",
    }


def _speculation(spec: StackSpec) -> dict[str, Any]:
    """Every worker has the drafter: prefill workers hand its state on. A block is the drafted tokens and one more."""
    speculation, drafter, weights = spec.preset.serving.speculation, spec.rows.drafter, drafter_weights(spec)
    if speculation is None or drafter is None or weights is None:
        return {}
    return {
        "speculative-algorithm": drafter.methods[spec.rows.engine.kind],
        "speculative-draft-model-path": weights.path,
        "speculative-num-draft-tokens": speculation.tokens + 1,
    }
