"""The frontend's routing flags, from the intent; every one of them here, as workers that name any replace them all.

- Mode ``kv``: the router keeps, from the workers' events, what each has cached, in blocks that must be as long as the
  engine's pages; without events it remembers what it sent where. Which of the two is said, as the default is events,
  and without a publisher every worker would look empty. With several frontends they tell each other what runs where.
- What a worker costs and the queues are in a file (``manifests.dynamo.policy_file``).
- A session keeps its worker: always (hard), or while that worker may be chosen at all (soft): the release's own cost
  function has no way to leave it for a better one. Hard, requests for a worker that died fail until discovery has
  dropped it. Bindings are each frontend's own; the others hear of them.
Source: ai-dynamo 1.6.1, dynamo/frontend/frontend_args.py; docs, router configuration and session affinity
"""

from __future__ import annotations

from typing import Any

from manifests.chosen import by_prefix, dynamo_router, publishes_events
from manifests.dynamo.policy_file import POLICY_FILE, POLICY_PATH
from stacks.resolve import StackSpec

__all__ = ["routing_flags"]


def routing_flags(spec: StackSpec) -> dict[str, Any]:
    """Every routing flag that is set, by name."""
    return {**(_by_cache(spec) if by_prefix(spec) else {"router-mode": "round-robin"}), **_affinity(spec)}


def _by_cache(spec: StackSpec) -> dict[str, Any]:
    return {
        "router-mode": "kv",
        "kv-cache-block-size": spec.preset.serving.kv_cache.block_size_tokens,
        "router-kv-events" if publishes_events(spec) else "no-router-kv-events": True,
        "router-replica-sync": dynamo_router(spec).frontends > 1,
        "router-policy-config": f"{POLICY_PATH}/{POLICY_FILE}",
    }


def _affinity(spec: StackSpec) -> dict[str, Any]:
    affinity = spec.preset.serving.routing.session_affinity
    if affinity is None:
        return {}
    return {
        "router-session-affinity-ttl-secs": affinity.forget_after_s,
        "router-session-affinity-mode": "hard" if affinity.strict else "soft",
    }
