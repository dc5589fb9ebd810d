"""Which nodes a pod goes to: those of the stack's own pools; a cluster may have others of the same machine type.

- Pods that serve go to the serving pools.
- What makes nodes ready (weights, a file system on local SSD) goes to pools that stand by as well, where they are the
  same machines with the same disks: they are ready before pods come. It leaves a pool that is drained: what it made
  stays on the nodes for the pods that still run there, and new weights may not take the place of those that they read.
- What serving pods lean on while they run and end (node agent, drivers) stays on a pool that is drained: without a
  driver a pod that holds a claim cannot end, and without its agent a node has no RDMA.

One pool is told by a label, several by a node affinity that names them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stacks.pools import Pool
from stacks.resolve import StackSpec
from stacks.taints import parse

__all__ = [
    "accelerator_tolerations",
    "agent_nodes",
    "agent_pools",
    "apart_on_nodes",
    "prepared_nodes",
    "serving_expressions",
    "serving_nodes",
    "system_labels",
    "system_tolerations",
]

_POOL = "cloud.google.com/gke-nodepool"


def serving_nodes(spec: StackSpec) -> dict[str, Any]:
    """Fields of a pod that put it on a serving pool."""
    return _on(spec, _serving(spec))


def prepared_nodes(spec: StackSpec) -> dict[str, Any]:
    """Fields of a pod that put it on every node that serves, or could without another file system."""
    first = _serving(spec)[0]
    return _on(spec, [pool for pool in spec.pools if not pool.drains and not first.differences(pool)])


def agent_nodes(spec: StackSpec) -> dict[str, Any]:
    """Fields of a pod that put it on every node on which a serving pod may still be."""
    return _on(spec, agent_pools(spec))


def agent_pools(spec: StackSpec) -> list[Pool]:
    """Pools of the serving machine type, drained ones too."""
    return [pool for pool in spec.pools if pool.row == spec.rows.hardware]


def serving_expressions(spec: StackSpec) -> list[dict[str, Any]]:
    """The serving pools' nodes as expressions over node labels, as volumes name them."""
    names = _names(spec, _serving(spec))
    return [_in(key, names if key == _POOL else [value]) for key, value in _labels(spec, "").items()]


def accelerator_tolerations(spec: StackSpec) -> list[dict[str, Any]]:
    """Tolerations for the taints GKE puts on the accelerator nodes."""
    return [_toleration(taint) for taint in spec.rows.hardware.gke.taints]


def system_labels(spec: StackSpec) -> dict[str, str]:
    """Labels GKE gives the system nodes."""
    return {"node.kubernetes.io/instance-type": spec.rows.system.machine_type, _POOL: spec.system_pool_name}


def system_tolerations(spec: StackSpec) -> list[dict[str, Any]]:
    """Tolerations for the taints GKE puts on the system nodes."""
    return [_toleration(taint) for taint in spec.rows.system.gke.taints]


def apart_on_nodes(labels: Mapping[str, str], pods: int, *, keys: Sequence[str] = ()) -> dict[str, Any]:
    """Fields of a pod that keep it off the nodes of its likes where there is room: a lost node must not take all.

    ``pods`` is how many have these ``labels``: one alone needs none. Pods with other values of ``keys`` do not count.
    """
    if pods == 1:
        return {}
    apart = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": dict(labels)},
        **({"matchLabelKeys": list(keys)} if keys else {}),
    }
    return {"topologySpreadConstraints": [apart]}


def _serving(spec: StackSpec) -> list[Pool]:
    return [pool for pool in spec.pools if pool.serves]


def _names(spec: StackSpec, pools: Iterable[Pool]) -> list[str]:
    return [spec.pool_name(pool) for pool in pools]


def _labels(spec: StackSpec, pool: str) -> dict[str, str]:
    """Labels GKE gives the accelerator nodes; with those of the accelerator network, where the transport needs it."""
    hardware = spec.rows.hardware
    return {
        "cloud.google.com/gke-accelerator": hardware.gpu.accelerator_type,
        "node.kubernetes.io/instance-type": hardware.machine_type,
        _POOL: pool,
        **(hardware.fabric.profile_labels if spec.rows.claims_network else {}),
    }


def _on(spec: StackSpec, pools: Iterable[Pool]) -> dict[str, Any]:
    first, *others = names = _names(spec, pools)
    labels = _labels(spec, first)
    if not others:
        return {"nodeSelector": labels}
    del labels[_POOL]
    terms = [{"matchExpressions": [_in(_POOL, names)]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"nodeSelector": labels, "affinity": {"nodeAffinity": required}}


def _in(key: str, values: list[str]) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": values}


def _toleration(text: str) -> dict[str, Any]:
    """The toleration of one taint."""
    taint = parse(text)
    return {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
