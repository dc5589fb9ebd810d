"""Variables of the graph's containers. What the operator sets itself (discovery, namespaces) is left to it.

- Router settings are flags of the frontend, and nowhere else: a worker that names any replaces the frontend's.
- A prompt of full length has to fit in one HTTP body, and its tokens in one message to a worker: both limits follow
  from the context, and frontends and workers have the same.
- A worker that is told to go leaves discovery at once, waits ``DYN_GRACEFUL_SHUTDOWN_GRACE_PERIOD_SECS``, always all of
  it, and then breaks off what still runs; the frontend lets another worker of the role go on with it. Where there is no
  other, the wait is as long as the longest request. vLLM's prefill workers keep blocks of prompts that they are done
  with until decode workers have fetched them, and nothing waits for that (ai-dynamo/dynamo#7319, #9344): so they stay
  at least as long as the blocks' lease.
Source: ai-dynamo 1.6.1, dynamo/common/utils/graceful_shutdown.py; dynamo/frontend/frontend_args.py (--migration-limit)
"""

from __future__ import annotations

from typing import Any

from manifests.caches import cache_environment, home_environment
from manifests.chosen import by_prefix, dynamo_release, sglang_engine
from manifests.fabric_claims import network_environment
from manifests.kv_tier import KV_TIER_PATH, has_local_ssd_tier, kv_tier_environment
from manifests.kv_transfer import LEASE_S, side_channel
from manifests.vllm_settings import vllm_environment
from manifests.weight_sets import model_weights
from stacks.memory import MIB
from stacks.resolve import StackSpec
from stacks.roles import Role

__all__ = ["frontend_environment", "graph_environment", "tier_path", "worker_environment"]

Variables = list[dict[str, Any]]


def _written(values: dict[str, str]) -> Variables:
    return [{"name": name, "value": value} for name, value in values.items()]


def graph_environment(spec: StackSpec) -> Variables:
    """Of every container of the graph: how its parts talk. Frontends and workers have to agree."""
    limit_mib = spec.derived.request_limit_mib or 0
    return _written(
        {
            "DYN_REQUEST_PLANE": "tcp",
            "DYN_EVENT_PLANE": "zmq",
            "DYN_TCP_MAX_MESSAGE_SIZE": str(limit_mib * MIB),
        }
    )


def frontend_environment(spec: StackSpec) -> Variables:
    """Of a frontend; it has no GPU, and gets tokenizer and configuration from the workers."""
    values = {
        **home_environment(spec),
        "DYN_HTTP_BODY_LIMIT_MB": str(spec.derived.request_limit_mib),
        "DYN_HTTP_GRACEFUL_SHUTDOWN_TIMEOUT_SECS": str(spec.derived.engine_drain_s),
    }
    if by_prefix(spec):
        # After this the router forgets a running request's load; its default is shorter than an agent's turn.
        values["DYN_ROUTER_ACTIVE_REQUEST_EXPIRY_SECS"] = str(spec.preset.serving.longest_request_s)
    return _written(values)


def worker_environment(spec: StackSpec, role: Role) -> Variables:
    """Of a worker of one role."""
    of_vllm = spec.rows.engine.kind == "vllm"
    values = {
        **cache_environment(spec),
        **(vllm_environment(spec) if of_vllm else _sglang(spec, role)),
        "DYN_SYSTEM_PORT": str(dynamo_release(spec).ports.system),
        "DYN_GRACEFUL_SHUTDOWN_GRACE_PERIOD_SECS": str(_stays_s(spec, role)),
        "NIXL_TELEMETRY_ENABLE": "n",  # nobody scrapes its port
    }
    tier = kv_tier_environment(spec) if role.tiered and has_local_ssd_tier(spec) else []
    return [*_written({**values, **network_environment(spec)}), *(side_channel(role) if of_vllm else []), *tier]


def _stays_s(spec: StackSpec, role: Role) -> int:
    """How long a worker of a role goes on after it left discovery."""
    alone_s, handed_over_s = spec.derived.engine_drain_s, spec.derived.drain_pause_s
    if role.replicas == 1:
        return alone_s
    fetched_s = LEASE_S if role.name == "prefill" and spec.rows.engine.kind == "vllm" else 0
    return min(alone_s, max(handed_over_s, fetched_s))


def _sglang(spec: StackSpec, role: Role) -> dict[str, str]:
    """Empty metrics port: the operator sets one for Dynamo's planner, which this graph has not."""
    values = {"DYN_FORWARDPASS_METRIC_PORT": ""}
    if role.tiered and has_local_ssd_tier(spec):
        values["SGLANG_HICACHE_FILE_BACKEND_STORAGE_DIR"] = tier_path(spec)
        # Each rank counts the files it wrote itself (srt/mem_cache/storage/file/lru_file_evictor.py).
        values["SGLANG_HICACHE_FILE_BACKEND_MAX_SIZE"] = str(spec.derived.ssd_tier_bytes_per_rank)
    return {**values, **sglang_engine(spec).extra_environment}


def tier_path(spec: StackSpec) -> str:
    """Folder of the local SSD tier.

    SGLang's file names say model and rank, not weights or element type: those are in the folder's name, or a restart
    with others would read blocks that mean something else. It is the mount itself, as SGLang makes the folder only in
    the pod that has the first rank.
    """
    if spec.rows.engine.kind != "sglang":
        return KV_TIER_PATH
    serving = spec.preset.serving
    return f"{KV_TIER_PATH}/{model_weights(spec).key}-{serving.kv_cache.dtype}-tp{serving.shape.tensor_parallel}"
