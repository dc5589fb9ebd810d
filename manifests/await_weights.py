"""The step before an engine: a fresh node is schedulable before its weights are there.

An engine that starts without them would fail and back off.
"""

from __future__ import annotations

from typing import Any

from manifests.pod_security import confined
from manifests.scripts import AWAIT_WEIGHTS
from manifests.weight_sets import weight_sets
from stacks.resolve import StackSpec

__all__ = ["await_weights"]


def await_weights(spec: StackSpec, mounts: list[dict[str, Any]]) -> dict[str, Any]:
    """An init container that ends when every set of weights is whole on its node; ``mounts`` show it the node's."""
    sets = [argument for s in weight_sets(spec) for argument in (s.path, s.marker)]
    return {
        "name": "await-weights",
        "image": str(spec.images["engine"]),
        "command": ["/bin/sh", "-c", AWAIT_WEIGHTS, "await-weights", *sets],
        "resources": {"requests": {"cpu": "50m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}},
        "securityContext": confined(),
        "volumeMounts": mounts,
    }
