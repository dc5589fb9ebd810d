"""Every pod finds a node: a pool it selects, whose taints it tolerates, and whose nodes are large enough.

Each pod is judged alone on an empty node; whether all of them fit together is the scheduler's business, and the sandbox
has a real one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from beamline.engine.graph import Graph
from policies.objects import OPAQUE, PodTemplate, entries, pod_templates, section
from policies.pools import NodePool, node_pools
from policies.quantities import amount, shown
from policies.rule import Finding, Rule
from policies.selection import required_terms, selected_pools
from stacks.taints import Taint

__all__ = ["RULES"]

_REPELLING = ("NoSchedule", "NoExecute")
_ADDED = {name: f"gke-gcsfuse/{name}-request" for name in ("cpu", "memory", "ephemeral-storage")}
"""What GKE's webhook gives the container that it adds to mount buckets, by the pod's annotations."""


def _tolerates(toleration: Mapping[str, Any], taint: Taint) -> bool:
    if toleration.get("effect") not in (None, "", taint.effect):
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return toleration.get("key") in (None, "", taint.key)
    return toleration.get("key") == taint.key and toleration.get("value", "") == taint.value


def _repelled(template: PodTemplate, pool: NodePool) -> list[Taint]:
    """Taints of the pool that keep the pod away."""
    tolerations = entries(template.spec.get("tolerations"))
    return [
        taint
        for taint in pool.taints
        if taint.effect in _REPELLING and not any(_tolerates(toleration, taint) for toleration in tolerations)
    ]


def _requests(template: PodTemplate) -> dict[str, int]:
    """What the pod asks for: the sum over containers, or the largest init container when that is more."""
    together = _added(template)
    largest_first: dict[str, int] = {}
    for path, container in template.containers():
        is_sidecar = container.get("restartPolicy") == "Always"
        for name, value in _asked(container).items():
            if ".initContainers[" in path and not is_sidecar:
                largest_first[name] = max(value, largest_first.get(name, 0))
            else:
                together[name] = together.get(name, 0) + value
    return {name: max(together.get(name, 0), largest_first.get(name, 0)) for name in {**together, **largest_first}}


def _added(template: PodTemplate) -> dict[str, int]:
    if template.annotations.get("gke-gcsfuse/volumes") != "true":
        return {}
    asked = {name: amount(name, template.annotations.get(annotation)) for name, annotation in _ADDED.items()}
    return {name: value for name, value in asked.items() if value is not None}


def _asked(container: Mapping[str, Any]) -> dict[str, int]:
    """What one container asks for: its requests, its limits where it has none, and of devices the larger of both."""
    limits, requests = (_readable(container, kind) for kind in ("limits", "requests"))
    devices = {name: max(value, requests.get(name, 0)) for name, value in limits.items() if "/" in name}
    return {**limits, **requests, **devices}


def _readable(container: Mapping[str, Any], kind: str) -> dict[str, int]:
    quantities = section(section(container.get("resources")).get(kind))
    found = {name: amount(name, quantity) for name, quantity in quantities.items()}
    return {name: value for name, value in found.items() if value is not None}


def _lacking(template: PodTemplate, pool: NodePool) -> list[str]:
    """What a node of the pool has too little of, in words."""
    there = pool.amounts()
    return [
        f"{name}: asks for {shown(name, value)}, a node has {shown(name, there[name])}"
        for name, value in sorted(_requests(template).items())
        if name in there and value > there[name]
    ]


def _selects_no_pool(graph: Graph) -> Iterator[Finding]:
    pools = node_pools(graph)
    for template in pod_templates(graph):
        if not selected_pools(template, pools):
            terms = required_terms(template)
            yield Finding(
                path=f"{template.path}.spec.{'nodeSelector' if terms is None else 'affinity.nodeAffinity'}",
                urn=template.owner.urn,
                value=template.spec.get("nodeSelector") if terms is None else terms,
                detail="no node pool of this stack has nodes with these labels",
                allowed="; ".join(
                    f"{pool.name}: " + ", ".join(f"{key}={value}" for key, value in sorted(pool.labels.items()))
                    for pool in pools
                ),
            )


def _tolerates_no_pool(graph: Graph) -> Iterator[Finding]:
    pools = node_pools(graph)
    for template in pod_templates(graph):
        candidates = [pool for pool in selected_pools(template, pools) if not _lacking(template, pool)]
        repelled = {pool.name: _repelled(template, pool) for pool in candidates}
        if candidates and all(repelled.values()):
            yield Finding(
                path=f"{template.path}.spec.tolerations",
                urn=template.owner.urn,
                value=template.spec.get("tolerations") or [],
                detail="taints keep the pod away from every node it fits on: "
                + "; ".join(f"{name}: {', '.join(map(str, taints))}" for name, taints in repelled.items()),
                allowed="a toleration for each of these taints",
            )


def _fits_no_node(graph: Graph) -> Iterator[Finding]:
    pools = node_pools(graph)
    for template in pod_templates(graph):
        selected = selected_pools(template, pools)
        lacking = {pool.name: _lacking(template, pool) for pool in selected}
        if selected and all(lacking.values()):
            yield Finding(
                path=f"{template.path}.spec.containers",
                urn=template.owner.urn,
                detail="the pod is larger than a node: "
                + "; ".join(f"{name}: {', '.join(reasons)}" for name, reasons in lacking.items()),
                allowed="requests within one node of a pool",
            )


def _unreadable(graph: Graph) -> Iterator[Finding]:
    for template in pod_templates(graph):
        for path, container in template.containers():
            for kind in ("limits", "requests"):
                for name, quantity in section(section(container.get("resources")).get(kind)).items():
                    if amount(name, quantity) is None and quantity != OPAQUE:
                        yield Finding(
                            path=f"{path}.resources.{kind}.{name}",
                            urn=template.owner.urn,
                            value=quantity,
                            detail="this is not a quantity",
                            allowed="a number with an optional suffix: 500m, 4, 1.5, 20Gi",
                        )


_PENDING = "the pod would stay Pending while the nodes are paid for"

RULES = (
    Rule(
        id="pod-selects-no-pool",
        why=_PENDING,
        remedy="use a label that a pool sets",
        source="Kubernetes docs, assigning pods to nodes; GKE docs, node labels",
        find=_selects_no_pool,
    ),
    Rule(
        id="pod-tolerates-no-pool",
        why=_PENDING,
        remedy="add the toleration to the pod template",
        source="Kubernetes docs, taints and tolerations; GKE docs, GPU node pools",
        find=_tolerates_no_pool,
    ),
    Rule(
        id="pod-fits-no-node",
        why=_PENDING,
        remedy="ask for less, or choose a larger machine type",
        source="stacks/catalog/hardware; GKE docs, allocatable resources",
        find=_fits_no_node,
    ),
    Rule(
        id="quantity",
        why="the API server refuses it",
        remedy="write a Kubernetes quantity",
        source="Kubernetes docs, Quantity",
        find=_unreadable,
    ),
)
