"""vLLM's engine, from the types: the flags that hold whoever serves its API, ``vllm serve`` or Dynamo.

Flags and keys were read in vLLM 0.33.0 (``vllm serve --help=all``; vllm/distributed/kv_transfer/kv_connector/v1).
"""

from __future__ import annotations

from typing import Any

from manifests.caches import CACHE_PATH
from manifests.chosen import publishes_events, vllm_engine
from manifests.kv_tier import KV_TIER_PATH
from manifests.kv_transfer import kv_transfer, kv_transfer_flags
from manifests.weight_sets import drafter_weights
from stacks.parallelism import data_parallel
from stacks.resolve import StackSpec
from stacks.roles import Role
from stacks.spec import HostDramOffload, LocalSsdOffload, TieredOffload

__all__ = ["vllm_environment", "vllm_settings"]

_SSD_THREADS = 16
"""Readers and writers of the local SSD tier: vLLM's own default, as each chunk is a file."""


def vllm_settings(spec: StackSpec, role: Role) -> dict[str, Any]:
    """Every engine flag that is set, by name; what the preset leaves open is left to the engine."""
    serving, engine = spec.preset.serving, vllm_engine(spec)
    return {
        "tensor-parallel-size": serving.shape.tensor_parallel,
        "data-parallel-size": ranks if (ranks := data_parallel(serving)) > 1 else None,
        "enable-expert-parallel": serving.shape.expert_parallel,
        "max-model-len": serving.context_tokens,
        "max-num-seqs": engine.max_sequences,
        "max-num-batched-tokens": engine.batched_tokens,
        "max-num-queued-reqs": spec.derived.engine_requests,
        "gpu-memory-utilization": engine.gpu_memory_utilization,
        "kv-cache-dtype": serving.kv_cache.dtype,
        "block-size": serving.kv_cache.block_size_tokens,
        "prefix-cache-retention-interval": engine.window_checkpoint_tokens,
        "watermark": engine.kv_free_share,
        "moe-backend": engine.moe_backend,
        "speculative-config": _speculation(spec),
        "kv-transfer-config": kv_transfer(role, _offload(spec) if role.tiered else None),
        **kv_transfer_flags(spec, role),
        **engine.extra_arguments,
    }


def vllm_environment(spec: StackSpec) -> dict[str, str]:
    """The engine's own variables: its caches, no usage statistics, and as long to start as the pod has."""
    return {
        "VLLM_CACHE_ROOT": f"{CACHE_PATH}/vllm",
        "VLLM_CONFIG_ROOT": f"{CACHE_PATH}/vllm-config",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_ENGINE_READY_TIMEOUT_S": str(spec.derived.engine_startup_budget_s),
        **vllm_engine(spec).extra_environment,
    }


def _speculation(spec: StackSpec) -> dict[str, Any] | None:
    speculation, drafter, weights = spec.preset.serving.speculation, spec.rows.drafter, drafter_weights(spec)
    if speculation is None or drafter is None or weights is None:
        return None
    return {
        "method": drafter.methods[spec.rows.engine.kind],
        "model": weights.path,
        "num_speculative_tokens": speculation.tokens,
    }


def _offload(spec: StackSpec) -> dict[str, Any] | None:
    """The KV tiers below GPU memory. All connectors keep the hybrid cache manager that mixed attention layers need."""
    match spec.preset.serving.kv_cache.offload:
        case HostDramOffload():
            return _connector("OffloadingConnector", _host_tier(spec))
        case TieredOffload():
            return _connector(
                "OffloadingConnector",
                {**_host_tier(spec), "spec_name": "TieringOffloadingSpec", "secondary_tiers": [_ssd_tier()]},
            )
        case LocalSsdOffload():
            return _connector(
                "SimpleCPUOffloadConnector",
                {
                    "kv_offload_backend": "disk",
                    "disk_path": f"{KV_TIER_PATH}/blocks",
                    # Every rank has a file of this size (simple_kv_offload/worker.py).
                    "disk_capacity_bytes": spec.derived.ssd_tier_bytes_per_rank,
                },
            )
        case _:
            return None


def _host_tier(spec: StackSpec) -> dict[str, Any]:
    return {
        # Of one data parallel engine, all its tensor parallel ranks together.
        "cpu_bytes_to_use": spec.derived.host_tier_bytes_per_replica // data_parallel(spec.preset.serving),
        # In blocks, not tokens: a size in tokens requires one block size for all kinds of layers.
        "blocks_per_chunk": spec.rows.engine.offload.blocks_per_chunk,
        # An agent's next prompt contains the answer before it, so answers are worth keeping too.
        "offload_prompt_only": False,
        # Without it events of this tier name no tokens, and no router can use them.
        **({"self_describing_kv_events": True} if publishes_events(spec) else {}),
    }


def _ssd_tier() -> dict[str, Any]:
    """It has no size of its own: the evictor beside the engine bounds it.

    Its events stay off: the engine would tell of what it wrote, and never of what the evictor took away.
    """
    return {
        "type": "fs",
        "root_dir": f"{KV_TIER_PATH}/blocks",
        "n_read_threads": _SSD_THREADS,
        "n_write_threads": _SSD_THREADS,
    }


def _connector(name: str, extra: dict[str, Any]) -> dict[str, Any]:
    return {"kv_connector": name, "kv_role": "kv_both", "kv_connector_extra_config": extra}
