"""Checkpoints without weights: the configuration that an engine reads before it loads anything."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from manifests.weight_sets import drafter_weights, model_weights
from stacks.resolve import StackSpec

__all__ = ["Files", "checkpoint_files"]

Files = dict[str, dict[str, Any]]


@cache
def _details() -> dict[str, Any]:
    details: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return details


def checkpoint_files(spec: StackSpec) -> dict[str, Files]:
    """Return, for each folder of weights that the stack's engines are told, its files: name -> JSON."""
    tokenizer = {name: _details()[name] for name in ("tokenizer.json", "tokenizer_config.json")}
    found: dict[str, Files] = {model_weights(spec).path: {"config.json": _model(spec), **tokenizer}}
    drafter, weights = spec.rows.drafter, drafter_weights(spec)
    if drafter is not None and weights is not None:
        config = {"architectures": [drafter.engine_class], "num_attention_heads": drafter.attention_heads}
        found[weights.path] = {"config.json": {**_details()["drafters"][drafter.engine_class], **config}}
    return found


def _model(spec: StackSpec) -> dict[str, Any]:
    row = spec.rows.model.architecture
    quantization = _details()["quantization"][spec.rows.checkpoint.precision]
    config = {
        "architectures": [row.engine_class],
        **_details()["models"][row.engine_class],
        "hidden_size": row.hidden_size,
        "num_hidden_layers": row.full_attention_layers + row.sliding_attention_layers,
        "num_attention_heads": row.attention_heads,
        "num_key_value_heads": row.kv_heads,
        "head_dim": row.head_dim,
        "max_position_embeddings": row.max_context_tokens,
        **({"quantization_config": quantization} if quantization else {}),
    }
    if row.sliding_attention_layers:
        config |= {"sliding_window": row.sliding_window_tokens, "layer_types": _layers(spec)}
    if row.experts:
        dense = 3
        config |= {
            "num_experts": row.experts,
            "mlp_layer_types": ["dense"] * dense + ["sparse"] * (config["num_hidden_layers"] - dense),
        }
    return config


def _layers(spec: StackSpec) -> list[str]:
    """Full attention at equal distances, and in the last layer."""
    row = spec.rows.model.architecture
    layers = row.full_attention_layers + row.sliding_attention_layers
    every = -(-layers // row.full_attention_layers)
    full = {*range(every, layers + 1, every), layers}
    return ["full_attention" if number in full else "sliding_attention" for number in range(1, layers + 1)]
