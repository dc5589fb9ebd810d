"""Stacks with Dynamo: every preset, and the features no preset turns on."""

from __future__ import annotations

from typing import Any

__all__ = ["DYNAMO_CASES", "DYNAMO_PRESETS", "DYNAMO_STORAGES"]

_BUCKET = {"kind": "bucket", "bucket": "your-weights-bucket", "prefix": "beam/dflash2"}
_DRAFTER = {"serving": {"speculation": {"drafter": "dflash2", "tokens": 7, "weights": _BUCKET}}}
_BANDS = {
    "interactive": {"priority": 10, "longest_wait_s": 60},
    "default": {"priority": 0, "longest_wait_s": 300},
    "background": {"priority": -10, "longest_wait_s": 900},
}
_QUEUES = {
    "routing": {"flow_control": {"order": "shortest_uncached", "bands": _BANDS}},
    "engine": {"max_waiting_requests": 64},
}
_STICKY = {"session_affinity": {"strict": True, "forget_after_s": 600}}
_AGGREGATED = {"kind": "aggregated", "replicas": 8, "tensor_parallel": 4, "expert_parallel": False}

_APART = {
    "kind": "prefill_decode",
    "prefill_replicas": 1,
    "decode_replicas": 2,
    "tensor_parallel": 8,
    "expert_parallel": True,
}
_VLLM = {
    "kind": "vllm",
    "version": "0.33.0",
    "max_sequences": 128,
    "batched_tokens": 8192,
    "gpu_memory_utilization": 0.9,
}

Case = tuple[str, dict[str, Any], list[str]]


def _vllm_apart(
    preset: str,
    *accepted: str,
    transport: str,
    shape: dict[str, Any] | None = None,
    pools: dict[str, Any] | None = None,
    **serving: Any,
) -> Case:
    apart = {"shape": {**_APART, **(shape or {})}, "transport": {"name": transport}, **serving}
    overrides = {"serving": apart, "accelerator_pools": pools or {}}
    return preset, overrides, ["disaggregation:prefill_decode", *accepted]


DYNAMO_PRESETS: dict[str, Case] = {
    "g4-dynamo": ("g4-dynamo", {}, []),
    "a4x-max-dynamo": ("a4x-max-dynamo", {}, []),
    "a4x-max-dynamo-bf16": ("a4x-max-dynamo-bf16", {}, []),
}
"""Stack by name: preset, overrides, accepted features. These have golden files."""

DYNAMO_STORAGES: dict[str, Case] = {
    "a4x-max-dynamo-gcs-fuse": ("a4x-max-dynamo", {"model": {"storage": {"kind": "gcs_fuse"}}}, ["weights:gcs_fuse"]),
}
"""Weights elsewhere than on local SSD, which no preset has; these have golden files, too."""

DYNAMO_CASES: dict[str, Case] = {
    **DYNAMO_PRESETS,
    **DYNAMO_STORAGES,
    "dynamo-on-disk": (
        "a4x-max-dynamo",
        {"model": {"storage": {"kind": "hyperdisk_ml", "disk": "beam-weights", "throughput_mib_per_s": 9600}}},
        ["weights:hyperdisk_ml"],
    ),
    "dynamo-groups-mounted": (
        "a4x-max-dynamo-bf16",
        {"model": {"storage": {"kind": "gcs_fuse"}}},
        ["weights:gcs_fuse"],
    ),
    "dynamo-drafter-mounted": (
        "g4-dynamo",
        {**_DRAFTER, "model": {"storage": {"kind": "gcs_fuse"}}},
        ["speculation:dflash2", "weights:gcs_fuse"],
    ),
    "dynamo-raw-block": (
        "a4x-max-dynamo",
        {"accelerator_pools": {"main": {"local_ssd_mode": "raw_block"}}},
        ["local-ssd:raw_block"],
    ),
    "dynamo-no-tier": ("a4x-max-dynamo", {"serving": {"kv_cache": {"offload": {"kind": "none"}}}}, []),
    "dynamo-host-dram": (
        "a4x-max-dynamo",
        {"serving": {"kv_cache": {"offload": {"kind": "host_dram", "gib_per_replica": 400}}}},
        ["kv-offload:host_dram"],
    ),
    "dynamo-plain-kv": ("a4x-max-dynamo", {"serving": {"kv_cache": {"dtype": "auto"}}}, []),
    "dynamo-round-robin": ("a4x-max-dynamo", {"serving": {"routing": {"policy": {"kind": "round_robin"}}}}, []),
    "dynamo-approximate": (
        "a4x-max-dynamo",
        {"serving": {"routing": {"policy": {"cache_view": "approximate"}}}},
        ["routing:prefix_approximate"],
    ),
    "dynamo-sticky": (
        "a4x-max-dynamo",
        {"serving": {"router": {"frontends": 1}, "routing": _STICKY}},
        ["routing:session_affinity"],
    ),
    "dynamo-soft": (
        "a4x-max-dynamo",
        {"serving": {"routing": {"session_affinity": {"strict": False, "forget_after_s": 60}}}},
        ["routing:session_affinity"],
    ),
    "dynamo-bands": ("a4x-max-dynamo", {"serving": _QUEUES}, ["routing:shortest_uncached"]),
    "dynamo-queued": (
        "a4x-max-dynamo",
        {"serving": {"shape": _AGGREGATED, "transport": None, "engine": {"max_waiting_requests": 64}}},
        [],
    ),
    "dynamo-attention-ranks": (
        "a4x-max-dynamo",
        {
            "serving": {
                **_QUEUES,
                "shape": {**_AGGREGATED, "data_parallel": 4, "expert_parallel": True},
                "transport": None,
            }
        },
        ["parallelism:tp4-dp4-ep", "routing:shortest_uncached"],
    ),
    "dynamo-attention-ranks-drafter": (
        "a4x-max-dynamo",
        {"serving": {**_DRAFTER["serving"], "shape": {**_AGGREGATED, "data_parallel": 2}, "transport": None}},
        ["parallelism:tp4-dp2", "speculation:dflash2"],
    ),
    "dynamo-tiered": (
        "a4x-max-dynamo",
        {
            "serving": {
                "kv_cache": {
                    "offload": {
                        "kind": "tiered",
                        "host_dram_gib_per_replica": 400,
                        "local_ssd_gib_per_replica": 4000,
                    }
                }
            }
        },
        ["kv-offload:tiered"],
    ),
    "dynamo-extra": (
        "a4x-max-dynamo",
        {
            "serving": {
                "engine": {
                    "extra_arguments": {"enable-cache-report": True, "log-level": "warning"},
                    "extra_environment": {"SGLANG_OPT_BEAM_DECODE_GEMV": "1"},
                }
            }
        },
        [],
    ),
    "dynamo-one-frontend": ("a4x-max-dynamo", {"serving": {"router": {"frontends": 1}}}, []),
    "dynamo-drafter": ("a4x-max-dynamo", _DRAFTER, ["speculation:dflash2"]),
    "dynamo-rdma": ("a4x-max-dynamo", {"serving": {"transport": {"name": "nvlink+rdma"}}}, ["transport:nvlink+rdma"]),
    "dynamo-aggregated": ("a4x-max-dynamo", {"serving": {"shape": _AGGREGATED, "transport": None}}, []),
    "dynamo-one-replica": ("g4-dynamo", {"serving": {"shape": {"replicas": 1}}}, []),
    "dynamo-vllm-local-ssd": (
        "g4-dynamo",
        {"serving": {"kv_cache": {"offload": {"kind": "local_ssd", "gib_per_replica": 2000}}}},
        ["kv-offload:local_ssd"],
    ),
    "dynamo-vllm-drafter": ("g4-dynamo", _DRAFTER, ["speculation:dflash2"]),
    "dynamo-vllm-round-robin": ("g4-dynamo", {"serving": {"routing": {"policy": {"kind": "round_robin"}}}}, []),
    "dynamo-vllm-approximate": (
        "g4-dynamo",
        {"serving": {"routing": {"policy": {"cache_view": "approximate"}}}},
        ["routing:prefix_approximate"],
    ),
    "dynamo-vllm-sticky": ("g4-dynamo", {"serving": {"routing": _STICKY}}, ["routing:session_affinity"]),
    "dynamo-vllm-bands": ("g4-dynamo", {"serving": _QUEUES}, ["routing:shortest_uncached"]),
    "dynamo-vllm-apart": _vllm_apart("g4-dynamo", "transport:tcp", transport="tcp", pools={"main": {"nodes": 3}}),
    "dynamo-vllm-apart-in-turn": _vllm_apart(
        "g4-dynamo",
        "transport:tcp",
        transport="tcp",
        pools={"main": {"nodes": 3}},
        routing={"policy": {"kind": "round_robin"}},
    ),
    "dynamo-vllm-stays-on-decode": _vllm_apart(
        "g4-dynamo",
        "transport:tcp",
        transport="tcp",
        pools={"main": {"nodes": 3}},
        shape={"prefill_replicas": 2, "decode_replicas": 1, "from_uncached_tokens": 4096},
    ),
    "dynamo-vllm-apart-over-nvlink": _vllm_apart(
        "a4x-max-dynamo",
        *("engine:vllm", "precision:nvfp4", "parallelism:tp4", "router:dynamo", "routing:prefix_events"),
        *("gateway:gke-l7-rilb", "transport:nvlink", "kv-cache:fp8", "kv-offload:local_ssd", "replicas:many"),
        transport="nvlink",
        shape={"prefill_replicas": 3, "decode_replicas": 5, "tensor_parallel": 4, "expert_parallel": False},
        engine=_VLLM,
    ),
    "dynamo-accepted": ("a4x-max-dynamo", {"serving": {"wait": "accepted"}}, []),
    "dynamo-unmonitored": ("a4x-max-dynamo", {"monitoring": {"kind": "none"}}, []),
}
"""All of them, by name."""
