"""Which node pools a pod's node selector and required node affinity take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from policies.objects import PodTemplate, entries, section
from policies.pools import NodePool

__all__ = ["selected_pools"]

_GKE_DOMAINS = (
    "cloud.google.com/",
    "gke.networks.io/",
    "kubernetes.io/",
    "node.kubernetes.io/",
    "topology.kubernetes.io/",
)


_OPERATORS: Mapping[str, Callable[[str | None, list[str]], bool]] = {
    "In": lambda value, values: value in values,
    "NotIn": lambda value, values: value not in values,
    "Exists": lambda value, _: value is not None,
    "DoesNotExist": lambda value, _: value is None,
    "Gt": lambda value, values: _compared(value, values) > 0,
    "Lt": lambda value, values: _compared(value, values) < 0,
}
"""As Kubernetes reads the expressions of a node selector term."""


def selected_pools(template: PodTemplate, pools: Sequence[NodePool]) -> list[NodePool]:
    """Pools whose nodes carry the labels the pod asks for; GKE sets more labels than a graph shows."""
    wanted = section(template.spec.get("nodeSelector"))
    selector = [{"key": key, "operator": "In", "values": [value]} for key, value in wanted.items()]
    terms = required_terms(template)
    return [
        pool
        for pool in pools
        if _holds(pool, selector) and (terms is None or any(_holds(pool, expressions) for expressions in terms))
    ]


def required_terms(template: PodTemplate) -> list[list[Mapping[str, Any]]] | None:
    """Expressions of the pod's required node affinity, one list for each term; None where it requires nothing.

    A term of nothing takes no node, as in Kubernetes. What it says of a node's fields is left aside: a graph has none.
    """
    affinity = section(section(template.spec.get("affinity")).get("nodeAffinity"))
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if not isinstance(required, Mapping):
        return None
    terms = entries(required.get("nodeSelectorTerms"))
    return [entries(term.get("matchExpressions")) for term in terms if term]


def _holds(pool: NodePool, expressions: Sequence[Mapping[str, Any]]) -> bool:
    return all(_expression_holds(pool, expression) for expression in expressions)


def _expression_holds(pool: NodePool, expression: Mapping[str, Any]) -> bool:
    key, values = str(expression.get("key")), expression.get("values")
    if key not in pool.labels and key.startswith(_GKE_DOMAINS):
        return True
    holds = _OPERATORS.get(str(expression.get("operator")))
    written = [str(value) for value in values] if isinstance(values, list) else []
    return holds is not None and holds(pool.labels.get(key), written)


def _compared(value: str | None, values: Sequence[str]) -> int:
    """Compare as whole numbers, 0 where one of the two is none."""
    try:
        left, right = int(value or ""), int(values[0]) if len(values) == 1 else None
    except ValueError:
        return 0
    return 0 if right is None else (left > right) - (left < right)
