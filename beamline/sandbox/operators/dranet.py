"""SIMULATED managed DRANET: publishes a node's RDMA interfaces as devices that pods can claim.

On GKE a DaemonSet of Google's does it, on nodes that carry its labels and an accelerator network profile. The
interfaces of bare metal exist only once asapd-lite has set them up: without a ready asapd-lite on the node no device
is published, and claims stay pending. The driver looks at the host's interfaces, whoever set them up, and so does this:
what counts is that the program runs in the host's network, not what its DaemonSet is called. When it stops being ready
the devices go; what GKE does then is not documented.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beamline.sandbox.cloud.api_server import ApiServer, Kind
from beamline.sandbox.cloud.faults import Faults, read_faults
from beamline.sandbox.cloud.machines import Machine, machine
from beamline.sandbox.cloud.node_objects import PROFILE_LABEL
from beamline.sandbox.operators.world import Manifest, World

__all__ = ["DRIVER", "Dranet"]

DRIVER = "dra.net"

_LABELS = {"cloud.google.com/gke-networking-dra-driver": "true"}
_METAL_LABELS = {"cloud.google.com/gke-dpv2-unified-cni": "cni-migration"}
_POOL_LABEL = "cloud.google.com/gke-nodepool"
_PROGRAM = "asapd-lite"
_SLICE = Kind("resource.k8s.io/v1", "ResourceSlice", "resourceslices", namespaced=False)
_RECHECK_S = 2.0
"""How often simulated faults are looked up while there are nodes they could befall."""


@dataclass
class Dranet:
    """The driver on all nodes of one cluster."""

    world: World
    api: ApiServer
    folder: Path
    """``cloud`` in the sandbox's folder, where faults are written."""

    def run_once(self) -> float | None:
        """Bring the published devices to what the nodes have. Return in how many seconds the next pass is due.

        Raises CloudError when the API server refuses, or when the faults cannot be read.
        """
        nodes = [node for node in self.world.of_kind("Node") if _interfaces(node)]
        wanted = dict(self._wanted(nodes))
        present = {
            item["metadata"]["name"]: item
            for item in self.world.of_kind("ResourceSlice")
            if item["spec"]["driver"] == DRIVER
        }
        for name, item in present.items():
            if name not in wanted:
                self.api.delete(_SLICE.path(name=name))
            elif len(item["spec"].get("devices", [])) != len(wanted[name]["spec"]["devices"]):
                wanted[name]["spec"]["pool"]["generation"] = item["spec"]["pool"]["generation"] + 1
                self.api.apply(_SLICE, wanted[name])
        for name in wanted.keys() - present.keys():
            self.api.apply(_SLICE, wanted[name])
        return _RECHECK_S if nodes else None

    def _wanted(self, nodes: list[Manifest]) -> Iterator[tuple[str, dict[str, Any]]]:
        faults = read_faults(self.folder)
        ready = {pod["spec"].get("nodeName") for pod in self.world.of_kind("Pod") if _sets_up_interfaces(pod)}
        for node, place in _places(nodes):
            if (node["metadata"]["name"] in ready or not _needs_agent(node)) and _is_enabled(node):
                made = _slice(node, _devices(node, place, faults))
                yield made["metadata"]["name"], made


def _places(nodes: list[Manifest]) -> Iterator[tuple[Manifest, int]]:
    """Yield each node and its place among its pool's, in the order of their names."""
    counts: dict[str, int] = {}
    for node in sorted(nodes, key=lambda node: str(node["metadata"]["name"])):
        pool = node["metadata"]["labels"].get(_POOL_LABEL, "")
        yield node, counts.setdefault(pool, 0)
        counts[pool] += 1


def _machine_of(node: Manifest) -> Machine | None:
    return machine(node["metadata"].get("labels", {}).get("node.kubernetes.io/instance-type", ""))


def _interfaces(node: Manifest) -> int:
    made = _machine_of(node)
    return made.family.rdma_devices if made else 0


def _needs_agent(node: Manifest) -> bool:
    """Tell whether the node's interfaces exist only once asapd-lite has set them up: a virtual machine has them."""
    made = _machine_of(node)
    return made is not None and made.family.rdma_agent


def _is_enabled(node: Manifest) -> bool:
    labels = node["metadata"].get("labels", {})
    wanted = _LABELS | (_METAL_LABELS if _needs_agent(node) else {})
    return PROFILE_LABEL in labels and all(labels.get(key) == value for key, value in wanted.items())


def _sets_up_interfaces(pod: Manifest) -> bool:
    """Tell whether a pod is a ready asapd-lite that works on its host's interfaces."""
    names = [
        entry["image"].partition("@")[0].rpartition("/")[2].partition(":")[0] for entry in pod["spec"]["containers"]
    ]
    conditions = (pod.get("status") or {}).get("conditions") or []
    ready = any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)
    return (
        ready
        and _PROGRAM in names
        and bool(pod["spec"].get("hostNetwork"))
        and "deletionTimestamp" not in pod["metadata"]
    )


def _devices(node: Manifest, place: int, faults: Faults) -> list[dict[str, Any]]:
    count = _interfaces(node)
    pool = node["metadata"]["labels"].get(_POOL_LABEL, "")
    return [
        {
            "name": f"rdma{index}",
            "attributes": {f"{DRIVER}/rdma": {"bool": True}, f"{DRIVER}/rdmaDevice": {"string": f"mlx5_{index}"}},
        }
        for index in range(min(count, faults.rdma_devices.get((pool, place), count)))
    ]


def _slice(node: Manifest, devices: list[dict[str, Any]]) -> dict[str, Any]:
    name = node["metadata"]["name"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"]["uid"]}
    return {
        "metadata": {"name": f"{name}-{DRIVER}", "ownerReferences": [owner]},
        "spec": {
            "driver": DRIVER,
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        },
    }
