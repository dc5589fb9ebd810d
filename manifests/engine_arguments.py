"""vLLM's command line, from the types.

Flags and keys were read in vLLM 0.33.0 (``vllm serve --help=all``; vllm/distributed/kv_transfer/kv_connector/v1).
"""

from __future__ import annotations

from typing import Any

from manifests.chosen import publishes_events
from manifests.engine_roles import engine_port
from manifests.flags import flags
from manifests.llmd.kv_events import kv_events_config
from manifests.vllm_settings import vllm_settings
from manifests.weight_sets import model_weights
from stacks.resolve import StackSpec
from stacks.roles import Role

__all__ = ["engine_arguments"]


def engine_arguments(spec: StackSpec, role: Role, *, serves: bool = True) -> list[str]:
    """Arguments of ``vllm serve``, the model's path first; not ``serves``: ranks for a pod that does, no API."""
    settings = {**_settings(spec, role), **_nodes(spec), "headless": not serves}
    return [model_weights(spec).path, *flags(settings)]


def _settings(spec: StackSpec, role: Role) -> dict[str, Any]:
    """Every flag that is set, by name; what the preset leaves open is left to the engine."""
    model = spec.rows.model
    return {
        "served-model-name": model.served_name,
        "port": engine_port(spec, role),
        **vllm_settings(spec, role),
        **model.engines[spec.rows.engine.kind].arguments,
        "kv-events-config": kv_events_config(spec, routed_port=spec.derived.engine_port),
        # Without it /render, of which the router has prompts tokenized, answers 403.
        "enable-scale-out": publishes_events(spec),
        "shutdown-timeout": spec.derived.engine_drain_s,
        # The router reads /metrics twenty times a second and the probes ask too: their lines would bury all others.
        "disable-access-log-for-endpoints": f"/health,/v1/models,{spec.rows.engine.metrics_path}",
        "fail-on-environ-validation": True,
    }


def _nodes(spec: StackSpec) -> dict[str, Any]:
    """How the pods of one replica find each other.

    Kubernetes itself replaces ``$(NAME)``; LeaderWorkerSet puts these variables first into every container. vLLM starts
    an equal part of the ranks in each pod, and they meet at port 29501 of the first (vllm/config/parallel.py).
    """
    if spec.derived.nodes_per_replica == 1:
        return {}
    return {
        "distributed-executor-backend": "mp",
        "nnodes": spec.derived.nodes_per_replica,
        "node-rank": "$(LWS_WORKER_INDEX)",
        "master-addr": "$(LWS_LEADER_ADDRESS)",
    }
