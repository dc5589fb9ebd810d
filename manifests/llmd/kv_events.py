"""Cache events, both ends: what an engine publishes and where, and how the picker listens and keeps an index of it.

- The picker connects to every replica it may choose, on one port. What it hears counts for the address and port that it
  routes to, so the topic says just these.
- A block of the index is a block of the engine, and it is told the engine's own size.
- Layers of several kinds have groups of blocks of their own. Only full attention counts: a sliding window keeps the
  newest tokens of a prompt, and a block of it says nothing about the beginning.
- The index has room for what all replicas can hold, GPU memory and tiers together.

Source: llm-d-router v0.10.0, pkg/kvevents (pool.go), pkg/kvcache, requestcontrol/dataproducer/preciseprefixcache
(extractor.go); vLLM 0.33.0, vllm/config/kv_events.py
"""

from __future__ import annotations

from typing import Any

from manifests.chosen import llmd_release, publishes_events
from stacks.resolve import StackSpec

__all__ = ["ADDRESS_VARIABLE", "index_parameters", "kv_events_config"]

ADDRESS_VARIABLE = "POD_IP"
_TOPIC = "kv@"
_ENTRIES_PER_BLOCK = 2
"""Of the index: while a block is replaced, the one before it is still there."""


def kv_events_config(spec: StackSpec, *, routed_port: int) -> dict[str, Any] | None:
    """Value of vLLM's ``--kv-events-config``; None where the picker does not listen.

    ``routed_port`` is the port to which the picker sends requests of this pod: where a proxy stands before the engine,
    the proxy's. The pod's address is Kubernetes' to fill in (``ADDRESS_VARIABLE``).
    """
    if not publishes_events(spec):
        return None
    return {
        "enable_kv_cache_events": True,
        "publisher": "zmq",
        "endpoint": f"tcp://*:{llmd_release(spec).kv_events.port}",
        "topic": f"{_TOPIC}$({ADDRESS_VARIABLE}):{routed_port}@{spec.rows.model.served_name}",
    }


def index_parameters(spec: StackSpec) -> dict[str, Any]:
    """Parameters of the picker's index of these events."""
    derived, block = spec.derived, spec.preset.serving.kv_cache.block_size_tokens
    tokens = (
        derived.kv_tokens_per_replica + derived.host_tier_tokens_per_replica + derived.ssd_tier_tokens_per_replica
    ) * derived.replicas
    tiers = [{"name": "gpu", "weight": 1.0}]
    if derived.host_tier_tokens_per_replica:
        tiers.append({"name": "cpu", "weight": llmd_release(spec).scorer_weights.lower_tier_share})
    return {
        "tokenProcessorConfig": {"blockSizeTokens": block},
        "indexerConfig": {
            "kvBlockIndexConfig": {
                "inMemoryConfig": {"size": _ENTRIES_PER_BLOCK * tokens // block, "podCacheSize": 2 * derived.replicas},
                "enableMetrics": True,
            },
            "kvCacheBackendConfigs": tiers,
        },
        "kvEventsConfig": {
            "topicFilter": _TOPIC,
            "discoverPods": True,
            "podDiscoveryConfig": {"socketPort": llmd_release(spec).kv_events.port},
        },
        "speculativeIndexing": True,
    }
