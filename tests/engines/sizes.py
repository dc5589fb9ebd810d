"""Stacks that no preset is, whose KV cache the engines divide another way: each has one size changed."""

from __future__ import annotations

from typing import Any

__all__ = ["SIZES"]

_DRAFTER = {
    "drafter": "dflash2",
    "tokens": 7,
    "weights": {"kind": "bucket", "bucket": "your-weights-bucket", "prefix": "beam/dflash2"},
}


def _vllm(*accepted: str, **serving: Any) -> tuple[str, dict[str, Any], list[str]]:
    return "g4-llmd", {"serving": serving}, list(accepted)


def _sglang(preset: str, *accepted: str, **serving: Any) -> tuple[str, dict[str, Any], list[str]]:
    return preset, {"serving": serving}, list(accepted)


_TOP, _ON_TOP = "a4x-max-dynamo-d", ("speculation:dflash2", "kv-pool:swa_0.08")
SIZES: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "vllm-small-batches": _vllm(engine={"batched_tokens": 2048}),
    "vllm-large-batches": _vllm(engine={"batched_tokens": 16_384}),
    "vllm-short-context": _vllm(context_tokens=16_384),
    "vllm-odd-context": _vllm(context_tokens=100_001),
    "vllm-small-blocks": _vllm(kv_cache={"block_size_tokens": 16}),
    "vllm-bf16-cache": _vllm(kv_cache={"dtype": "auto"}),
    "vllm-bf16-cache-drafter": _vllm("speculation:dflash2", kv_cache={"dtype": "auto"}, speculation=_DRAFTER),
    "sglang-few-sequences": _sglang("a4x-max-dynamo", engine={"max_sequences": 16}),
    "sglang-few-sequences-drafter": _sglang(_TOP, *_ON_TOP, engine={"max_sequences": 8}),
    "sglang-bf16-cache": _sglang("a4x-max-dynamo", kv_cache={"dtype": "auto"}),
    "sglang-bf16-cache-drafter": _sglang(_TOP, *_ON_TOP, kv_cache={"dtype": "auto"}),
    "sglang-no-prefixes": _sglang("a4x-max-dynamo-a", engine={"extra_arguments": {"disable-radix-cache": True}}),
    "sglang-no-prefixes-drafter": _sglang(
        "a4x-max-dynamo-a",
        "speculation:dflash2",
        engine={"extra_arguments": {"disable-radix-cache": True}},
        speculation=_DRAFTER,
    ),
}
"""By name: preset, overrides, accepted features."""
