"""Where the collectors of Google's Managed Prometheus run, for policies that let them in."""

from __future__ import annotations

from typing import Any

__all__ = ["collectors"]

_NAMESPACES = ["gmp-system", "gke-gmp-system"]


def collectors() -> dict[str, Any]:
    """A NetworkPolicy's peer: their namespaces."""
    key = "kubernetes.io/metadata.name"
    return {"namespaceSelector": {"matchExpressions": [{"key": key, "operator": "In", "values": _NAMESPACES}]}}
