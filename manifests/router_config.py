"""The endpoint picker's configuration: how it chooses among the engines.

Parsing is strict in the router (unknown fields and parameters stop it), so only what v0.10.0 knows is written, and the
parts it would add by itself (picker, profile handler) are written out: the file then says all that happens. Metrics
collection is left to its defaults, which fit vLLM.
Source: llm-d-router v0.10.0, pkg/epp/config/loader and pkg/epp/framework/plugins.
"""

from __future__ import annotations

from typing import Any

import yaml

from manifests.chosen import llmd_release
from stacks.resolve import StackSpec
from stacks.spec import PrefixAndLoad

__all__ = ["CONFIG_FILE", "router_config"]

CONFIG_FILE = "config.yaml"


def router_config(spec: StackSpec) -> str:
    """EndpointPickerConfig as YAML."""
    weights = _scorer_weights(spec)
    producers = [_prefix_producer(spec)] if "prefix-cache-scorer" in weights else []
    handlers = ("max-score-picker", "single-profile-handler")
    config: dict[str, Any] = {
        "apiVersion": llmd_release(spec).config_api_version,
        "kind": "EndpointPickerConfig",
        "plugins": [*producers, *({"type": plugin} for plugin in (*weights, *handlers))],
        "schedulingProfiles": [
            {
                "name": "default",
                "plugins": [
                    *({"pluginRef": scorer, "weight": weight} for scorer, weight in weights.items()),
                    {"pluginRef": "max-score-picker"},
                ],
            }
        ],
    }
    text: str = yaml.safe_dump(config, sort_keys=False)
    return text


def _scorer_weights(spec: StackSpec) -> dict[str, int]:
    """Weight by scorer; a weight of 0 leaves the scorer out."""
    policy = spec.preset.serving.routing.policy
    if not isinstance(policy, PrefixAndLoad):
        return {}
    scorers = policy.scorers or llmd_release(spec).scorer_weights
    weights = {
        "prefix-cache-scorer": scorers.prefix_cache,
        "queue-scorer": scorers.queue,
        "kv-cache-utilization-scorer": scorers.kv_cache_utilization,
    }
    return {name: weight for name, weight in weights.items() if weight > 0}


def _prefix_producer(spec: StackSpec) -> dict[str, Any]:
    """What remembers which engine has seen which prefix.

    By default it stops comparing after a fixed number of tokens, so that all longer prompts that begin alike look the
    same (llm-d-router#1217, #1548). With a longer context both caps are lifted: 0 means the whole prompt.
    """
    producer: dict[str, Any] = {"type": "approx-prefix-cache-producer"}
    if spec.preset.serving.context_tokens > llmd_release(spec).prefix_matching.default_max_tokens:
        producer["parameters"] = {"maxPrefixTokensToMatch": 0, "maxPrefixBlocksToMatch": 0}
    return producer
