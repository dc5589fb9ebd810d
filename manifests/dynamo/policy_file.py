"""The router's policy file: what a worker costs, and the queues that requests wait in.

Flags for these are deprecated and go in Dynamo 1.7; the file is read by 1.6 and 1.7 alike. It is parsed strictly, so
only keys that both know are written, and whatever their defaults differ in (the order of queues) is said.

- Costs are the release's own, written out: a lower one wins, and every cached block takes its weight off. Engines
  tell of blocks in GPU and host memory and never of those on disk; their weight does nothing.
- A band is a policy family with one class, which clients choose by header; whoever names none, or one that is not
  there, is in the default family. Buckets by uncached length are not used: one bucket holds all.
- A class queues only with a busy threshold. A worker is busy while more uncached prompt tokens wait in it than one step
  computes: more would wait in the engine, where the router cannot order them any more.
- How long a request may wait, neither release has a key for: queues are bounded by length.
Source: ai-dynamo 1.6.1 and 1.7.0.dev20261026, KvRouterConfig(router_policy_config=...); lib/kv-router/src/scheduling
"""

from __future__ import annotations

from typing import Any

import yaml

from manifests.chosen import by_prefix, dynamo_release
from manifests.config_maps import fixed_files
from manifests.dynamo.bands import quantum_tokens, queue_limit
from manifests.dynamo.names import FRONTEND
from manifests.naming import content_name
from manifests.objects import KubernetesObject
from stacks.parallelism import data_parallel
from stacks.resolve import StackSpec
from stacks.spec import FlowControl, PrefillDecode, SglangEngine

__all__ = ["POLICY_FILE", "POLICY_PATH", "policy_file", "policy_object"]

POLICY_FILE = "policy.yaml"
POLICY_PATH = "/etc/dynamo-router"
_BUCKET = "any"
_COST = "cost"


def policy_file(spec: StackSpec) -> str | None:
    """The file's text; None where the router looks at nothing that it says."""
    if not by_prefix(spec):
        return None
    flow = spec.preset.serving.routing.flow_control
    text: str = yaml.safe_dump({**(_queues(spec, flow) if flow else {}), **_selection(spec)}, sort_keys=False)
    return text


def _queues(spec: StackSpec, flow: FlowControl) -> dict[str, Any]:
    return {
        "default_policy_family": flow.default_band,
        "uncached_isl_buckets": [{"min_tokens": 0, "bucket": _BUCKET}],
        "policy_classes": [_class(spec, flow, name) for name in flow.bands],
    }


def _class(spec: StackSpec, flow: FlowControl, name: str) -> dict[str, Any]:
    serving = spec.preset.serving
    limit = queue_limit(flow.bands[name], serving.engine.max_waiting_requests)
    return {
        "name": name,
        "policy_family": name,
        "cache_bucket": _BUCKET,
        "queue_policy": dynamo_release(spec).flow.words[flow.order],
        "quantum": quantum_tokens(flow.bands, name, block_tokens=serving.kv_cache.block_size_tokens),
        "prefill_busy_threshold": _step_tokens(spec),
        **({} if limit is None else {"request_queue_limit_per_worker": limit}),
    }


def _step_tokens(spec: StackSpec) -> int:
    """Prompt tokens that one rank computes in a step; the router counts attention ranks one by one.

    SGLang splits a chunk over them (srt/arg_groups/parallel_hook.py), vLLM's have a budget each.
    """
    serving = spec.preset.serving
    ranks = data_parallel(serving) if isinstance(serving.engine, SglangEngine) else 1
    return serving.engine.batched_tokens // ranks


def _selection(spec: StackSpec) -> dict[str, Any]:
    """Decode workers that take over a finished cache are chosen by load alone, which is the router's own way."""
    stage = "prefill" if isinstance(spec.preset.serving.shape, PrefillDecode) else "aggregated"
    cost = dynamo_release(spec).routing_cost
    return {
        "worker_selection": {
            stage: _COST,
            "instances": [
                {"name": _COST, "type": cost.function, "parameters": cost.weights},
            ],
        }
    }


def policy_object(spec: StackSpec) -> KubernetesObject | None:
    """The file as a ConfigMap that cannot be changed: another text is another object, and new frontends."""
    text = policy_file(spec)
    if text is None:
        return None
    data = {POLICY_FILE: text}
    called = content_name("router-policy", data)
    return fixed_files(spec, "router-policy", data, called=called, component=FRONTEND)
