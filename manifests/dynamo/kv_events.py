"""How workers tell the router which prefixes they have cached; Dynamo's part of a worker reads it and sends it on."""

from __future__ import annotations

from typing import Any

from manifests.chosen import dynamo_release, publishes_events
from stacks.resolve import StackSpec

__all__ = ["kv_events"]


def kv_events(spec: StackSpec, **engines_own: Any) -> dict[str, Any] | None:
    """Value of the engine's ``--kv-events-config``, with keys only it knows; None where the router asks for none."""
    if not publishes_events(spec):
        return None
    return {**engines_own, "publisher": "zmq", "endpoint": f"tcp://*:{dynamo_release(spec).ports.kv_events}"}
