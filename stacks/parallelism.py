"""How many GPUs a replica takes, from the sizes a preset names."""

from __future__ import annotations

from stacks.spec import Aggregated, Serving, VllmEngine

__all__ = ["data_parallel", "gpus_per_replica"]


def data_parallel(serving: Serving) -> int:
    """Attention ranks of a replica; 1: attention is split by tensor parallelism alone."""
    return serving.shape.data_parallel if isinstance(serving.shape, Aggregated) else 1


def gpus_per_replica(serving: Serving) -> int:
    """GPUs of one replica.

    vLLM's data parallel ranks have tensor_parallel GPUs each (vllm/config/parallel.py, world_size_across_dp); SGLang's
    share the tensor parallel group (srt/layers/dp_attention.py: attention TP = TP / DP).
    """
    ranks = data_parallel(serving) if isinstance(serving.engine, VllmEngine) else 1
    return serving.shape.tensor_parallel * ranks
