"""vLLM's command line, from the types.

One element per flag (``--flag=value``), so that a line of YAML is a whole setting and nothing depends on quoting. JSON
values are one element with sorted keys: the same intent always gives the same bytes, and so no needless rollout.
Flags and keys were read in vLLM 0.33.0 (``vllm serve --help=all``; vllm/distributed/kv_transfer/kv_connector/v1).
"""

from __future__ import annotations

import json
from typing import Any

from manifests.chosen import vllm_engine
from manifests.weight_sets import drafter_weights, model_weights
from stacks.resolve import StackSpec
from stacks.spec import HostDramOffload, LocalSsdOffload

__all__ = ["KV_TIER_PATH", "engine_arguments"]

KV_TIER_PATH = "/kv-tier"
"""Where the container sees the local SSD tier."""


def engine_arguments(spec: StackSpec) -> list[str]:
    """Arguments of ``vllm serve``, the model's path first."""
    return [model_weights(spec).path, *(_flag(name, value) for name, value in _settings(spec).items())]


def _flag(name: str, value: Any) -> str:
    """Write one flag; ``True`` is a switch, a mapping is JSON."""
    if value is True:
        return f"--{name}"
    if isinstance(value, dict):
        value = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return f"--{name}={value}"


def _settings(spec: StackSpec) -> dict[str, Any]:
    """Every flag that is set, by name; what the preset leaves open is left to the engine."""
    serving, model, engine = spec.preset.serving, spec.rows.model, vllm_engine(spec)
    settings: dict[str, Any] = {
        "served-model-name": model.served_name,
        "port": spec.derived.engine_port,
        "tensor-parallel-size": serving.shape.tensor_parallel,
        "enable-expert-parallel": serving.shape.expert_parallel,
        "max-model-len": serving.context_tokens,
        "max-num-seqs": engine.max_sequences,
        "max-num-batched-tokens": engine.batched_tokens,
        "gpu-memory-utilization": engine.gpu_memory_utilization,
        "kv-cache-dtype": serving.kv_cache.dtype,
        "block-size": serving.kv_cache.block_size_tokens,
        "moe-backend": engine.moe_backend,
        "speculative-config": _speculation(spec),
        "kv-transfer-config": _offload(spec),
        **model.engines[engine.kind].arguments,
        "shutdown-timeout": spec.derived.engine_drain_s,
        # The router reads /metrics twenty times a second and the probes ask too: their lines would bury all others.
        "disable-access-log-for-endpoints": f"/health,/v1/models,{spec.rows.engine.metrics_path}",
        "fail-on-environ-validation": True,
    }
    return {name: value for name, value in settings.items() if value is not None and value is not False}


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
    """The KV tier below GPU memory. Both connectors keep the hybrid cache manager that mixed attention layers need."""
    match spec.preset.serving.kv_cache.offload:
        case HostDramOffload():
            return _connector(
                "OffloadingConnector",
                {
                    "cpu_bytes_to_use": spec.derived.offload_bytes_per_replica,
                    # In blocks, not tokens: a size in tokens requires one block size for all kinds of layers.
                    "blocks_per_chunk": spec.rows.engine.offload.blocks_per_chunk,
                    # An agent's next prompt contains the answer before it, so answers are worth keeping too.
                    "offload_prompt_only": False,
                },
            )
        case LocalSsdOffload():
            return _connector(
                "SimpleCPUOffloadConnector",
                {
                    "kv_offload_backend": "disk",
                    "disk_path": f"{KV_TIER_PATH}/blocks",
                    # Every rank has a file of this size (simple_kv_offload/worker.py).
                    "disk_capacity_bytes": spec.derived.offload_bytes_per_rank,
                },
            )
        case _:
            return None


def _connector(name: str, extra: dict[str, Any]) -> dict[str, Any]:
    return {"kv_connector": name, "kv_role": "kv_both", "kv_connector_extra_config": extra}
