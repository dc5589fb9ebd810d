"""Brings the Node objects of a pool to what the pool says, as GKE's instance groups do with instances.

What should be there follows from the ledger alone, so the work can be repeated: a process that was killed half-way is
continued by the next one that looks at the pool.
"""

import itertools
import time
from collections.abc import Iterable, Mapping
from typing import Any

from beamline.sandbox.cloud.api_server import ApiServer, Kind, Manifest
from beamline.sandbox.cloud.errors import CloudError
from beamline.sandbox.cloud.faults import read_faults
from beamline.sandbox.cloud.names import last
from beamline.sandbox.cloud.node_objects import (
    NodeTemplate,
    desired_nodes,
    has_own_driver,
    labels,
    node_metadata,
    taints,
)
from beamline.sandbox.cloud.simulation import Simulation

__all__ = ["bring_to", "is_replaced", "node_names", "remove_nodes"]

_NODE = Kind("v1", "Node", "nodes", namespaced=False)
_POD = Kind("v1", "Pod", "pods", namespaced=True)
_GRACE_S = 60.0
"""Real seconds a node may be late, whatever the pace of the simulation: a loaded machine is slow."""
_POLL_S = 0.1
_BOOTS = "sandbox.beamline.dev/capacity"
"""The annotation without which no simulated kubelet takes a node up (``stages/node.yaml``)."""


def bring_to(
    simulation: Simulation, template: NodeTemplate, counts: Mapping[str, int], *, subnet: str, surge: int
) -> None:
    """Make the pool's nodes what the template and the counts say, and wait until they are ready.

    Nodes that must be replaced go one by one: with ``surge`` the new one comes first. Returns early when interrupted.
    Raises CloudError when a node is not ready in time.
    """
    api = simulation.api()
    wanted = desired_nodes(template, counts)
    never = _never_ready(simulation, template.pool, wanted)
    present = {item["metadata"]["name"]: item for item in _nodes(api, template.pool)}
    for name in [name for name, item in present.items() if name not in never and _cannot_boot(item)]:
        _remove(api, name)  # what was broken is well again: GKE makes the node anew
        del present[name]
    new = [name for name in wanted if name not in present]
    old = [name for name in present if name not in wanted]
    for name in wanted.keys() & present.keys():
        _update(api, template, present[name], wanted[name])
    if new and old:
        for come, go in itertools.zip_longest(new, old):
            if go and not surge:
                _remove(api, go)
            if come:
                _register(api, template, come, wanted[come], subnet, boots=come not in never)
                _await_ready(simulation, api, template, [come], never)
            if go and surge:
                _remove(api, go)
    else:
        for name in new:
            _register(api, template, name, wanted[name], subnet, boots=name not in never)
        for name in old:
            _remove(api, name)
    _await_ready(simulation, api, template, wanted, never)


def is_replaced(simulation: Simulation, template: NodeTemplate, counts: Mapping[str, int]) -> bool:
    """Tell whether the template means new nodes in the place of some that are there."""
    wanted, present = set(desired_nodes(template, counts)), set(node_names(simulation, template.pool_id))
    return bool(wanted - present) and bool(present - wanted)


def remove_nodes(simulation: Simulation, pool: str) -> None:
    """Take away all nodes of a pool, and the pods on them."""
    api = simulation.api()
    for item in _nodes(api, pool):
        _remove(api, item["metadata"]["name"])


def node_names(simulation: Simulation, pool: str) -> list[str]:
    """Return the names of a pool's nodes."""
    return sorted(item["metadata"]["name"] for item in _nodes(simulation.api(), pool))


def _nodes(api: ApiServer, pool: str) -> list[Manifest]:
    return api.items(_NODE, selector=f"cloud.google.com/gke-nodepool%3D{last(pool)}")


def _never_ready(simulation: Simulation, pool: str, names: Iterable[str]) -> set[str]:
    """Return the nodes that a fault keeps from getting ready."""
    faults = read_faults(simulation.folder).never_ready
    return {name for place, name in enumerate(sorted(names)) if (pool, place) in faults}


def _cannot_boot(item: Manifest) -> bool:
    return _BOOTS not in item["metadata"].get("annotations", {})


def _register(api: ApiServer, template: NodeTemplate, name: str, zone: str, subnet: str, *, boots: bool) -> None:
    taken = [
        address["address"]
        for item in api.items(_NODE)
        for address in item.get("status", {}).get("addresses", [])
        if address["type"] == "InternalIP"
    ]
    node = node_metadata(template, name, zone, taken, subnet)
    if not boots:
        del node["metadata"]["annotations"][_BOOTS]
    api.create(_NODE, node)


def _update(api: ApiServer, template: NodeTemplate, item: Manifest, zone: str) -> None:
    """Change labels and taints in place, leaving what Kubernetes itself has set on the node."""
    name = item["metadata"]["name"]
    asked = labels(template, name, zone)
    previous = item["metadata"].get("labels", {})
    dropped = {key: None for key in previous if key not in asked and _is_pools(key)}
    kept = [taint for taint in item["spec"].get("taints", []) if taint["key"].startswith("node.kubernetes.io/")]
    change: dict[str, Any] = {"metadata": {"labels": {**dropped, **asked}}}
    if [t for t in item["spec"].get("taints", []) if t not in kept] != taints(template):
        change["spec"] = {"taints": [*taints(template), *kept]}
    if dropped or "spec" in change or any(previous.get(key) != value for key, value in asked.items()):
        api.merge(_NODE.path(name=name), change)


def _is_pools(key: str) -> bool:
    """Tell whether a label came from the pool: whatever else labels nodes uses a prefix of its own."""
    return not key.partition("/")[0].endswith((".io", ".dev")) and key != "gke-no-default-nvidia-gpu-device-plugin"


def _remove(api: ApiServer, name: str) -> None:
    """Take a node and its pods away, as the end of its instance does."""
    for pod in api.items(_POD, fields=f"spec.nodeName%3D{name}"):
        metadata = pod["metadata"]
        api.delete(_POD.path(metadata["namespace"], metadata["name"]), grace_s=0)
    api.delete(_NODE.path(name=name), grace_s=0)


def _await_ready(
    simulation: Simulation, api: ApiServer, template: NodeTemplate, names: Iterable[str], never: set[str]
) -> None:
    family = template.machine.family
    waiting = set(names)
    grace_s = _GRACE_S if waiting - never else 0
    limit_s = (family.boot_s + family.driver_s) / simulation.time_scale + grace_s
    deadline = time.monotonic() + limit_s
    total = len(waiting)
    while waiting and not simulation.interrupted.is_set():
        ready = {item["metadata"]["name"] for item in _nodes(api, template.pool) if _is_ready(item, template)}
        waiting -= ready
        if waiting and (time.monotonic() > deadline or (waiting <= never and time.monotonic() > deadline - grace_s)):
            raise CloudError(
                f"Error waiting for creating GKE NodePool: All cluster resources were brought up, but: only "
                f"{total - len(waiting)} nodes out of {total} have registered; cluster may be unhealthy. "
                f"({', '.join(sorted(waiting))}: not ready after {limit_s:.0f} s)"
            )
        if waiting:
            time.sleep(_POLL_S)


def _is_ready(item: Manifest, template: NodeTemplate) -> bool:
    status = item.get("status", {})
    up = any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions", []))
    fenced = any(t["key"] == "node.kubernetes.io/not-ready" for t in item["spec"].get("taints", []))
    gpus = template.machine.gpus if has_own_driver(template.config) else 0
    return up and not fenced and (not gpus or status.get("allocatable", {}).get("nvidia.com/gpu") == str(gpus))
