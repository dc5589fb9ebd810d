"""vLLM's command line under Dynamo, from the types.

``dynamo.vllm`` takes the flags of vLLM's engine, not those of its API server: port, draining and access log are
Dynamo's here. Priorities are turned round on the way to vLLM, where a lower number goes first.

With prefill apart from decode, a role is a mode and a connector (``manifests.kv_transfer``); Dynamo takes the one of
several connectors that it knows how to speak for (dynamo/vllm/kv_connector_protocols.py). Decode workers are chosen by
load, so only prefill workers tell the router what they have cached; both do where a prompt may stay on decode.
Flags were tried on the parser of ai-dynamo 1.6.1 (dynamo/vllm/args.py) with vLLM 0.33.0.
"""

from __future__ import annotations

from typing import Any

from manifests.dynamo.bands import has_priorities
from manifests.dynamo.kv_events import kv_events
from manifests.dynamo.parsers import worker_arguments
from manifests.dynamo.routing_flags import stays_on_decode
from manifests.engine_roles import apart
from manifests.flags import flags
from manifests.vllm_settings import vllm_settings
from manifests.weight_sets import model_weights
from stacks.resolve import StackSpec
from stacks.roles import Role

__all__ = ["vllm_arguments"]


def vllm_arguments(spec: StackSpec, role: Role) -> list[str]:
    """Arguments of ``python3 -m dynamo.vllm``, for a worker of one role."""
    return flags(
        {
            "model": model_weights(spec).path,
            "served-model-name": spec.rows.model.served_name,
            "disaggregation-mode": role.name if apart(role) else None,
            **vllm_settings(spec, role),
            "scheduling-policy": "priority" if has_priorities(spec.preset.serving.routing) else None,
            "kv-events-config": _events(spec, role),
            **worker_arguments(spec),
        }
    )


def _events(spec: StackSpec, role: Role) -> dict[str, Any] | None:
    if role.name == "decode" and stays_on_decode(spec) is None:
        return None
    return kv_events(spec, enable_kv_cache_events=True)
