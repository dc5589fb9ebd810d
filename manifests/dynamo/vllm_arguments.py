"""vLLM's command line under Dynamo, from the types.

``dynamo.vllm`` takes the flags of vLLM's engine, not those of its API server: port, draining and access log are
Dynamo's here. Priorities are turned round on the way to vLLM, where a lower number goes first. Flags were tried on the
parser of ai-dynamo 1.6.1 (dynamo/vllm/args.py) with vLLM 0.33.0.
"""

from __future__ import annotations

from manifests.dynamo.bands import has_priorities
from manifests.dynamo.kv_events import kv_events
from manifests.dynamo.parsers import worker_arguments
from manifests.flags import flags
from manifests.vllm_settings import vllm_settings
from manifests.weight_sets import model_weights
from stacks.resolve import StackSpec

__all__ = ["vllm_arguments"]


def vllm_arguments(spec: StackSpec) -> list[str]:
    """Arguments of ``python3 -m dynamo.vllm``."""
    return flags(
        {
            "model": model_weights(spec).path,
            "served-model-name": spec.rows.model.served_name,
            **vllm_settings(spec, spec.roles[0]),
            "scheduling-policy": "priority" if has_priorities(spec.preset.serving.routing) else None,
            "kv-events-config": kv_events(spec, enable_kv_cache_events=True),
            **worker_arguments(spec),
        }
    )
