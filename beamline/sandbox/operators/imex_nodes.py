"""SIMULATED kubelet plugin of NVIDIA's DRA driver: what it publishes and says of each node.

Where the chart's DaemonSet has a ready pod on a node with GPUs, the plugin publishes two devices: an IMEX channel for
workloads and the slot of the IMEX daemon. Where its affinity matches no node, as with the chart's defaults on GKE,
nothing is published and claims stay pending.
"""

import uuid
from dataclasses import dataclass
from typing import Any

from beamline.sandbox.cloud.api_server import Kind
from beamline.sandbox.operators.pods import is_ready, runs
from beamline.sandbox.operators.world import Manifest, World
from beamline.sandbox.operators.writing import Writer

__all__ = ["CLIQUE_LABEL", "DRIVER", "ImexNodes", "clique_of"]

DRIVER = "compute-domain.nvidia.com"
CLIQUE_LABEL = "nvidia.com/gpu.clique"

_PROGRAM = "compute-domain-kubelet-plugin"
_SUBBLOCK = "cloud.google.com/gce-topology-subblock"
_SLICE = Kind("resource.k8s.io/v1", "ResourceSlice", "resourceslices", namespaced=False)


@dataclass
class ImexNodes:
    """The plugin on all nodes of one cluster."""

    world: World
    writer: Writer

    def plugins(self) -> dict[str, Manifest]:
        """Return the ready plugin pod of each node that has one."""
        pods = (pod for pod in self.world.of_kind("Pod") if runs(pod["spec"], _PROGRAM) and is_ready(pod))
        return {pod["spec"]["nodeName"]: pod for pod in pods}

    def publish(self) -> None:
        """Bring slices and labels to what the plugins would publish."""
        plugins = self.plugins()
        wanted = {}
        for node in self.world.of_kind("Node"):
            name = node["metadata"]["name"]
            plugin = plugins.get(name)
            if plugin is not None and _has_gpus(node):
                wanted[f"{name}-{DRIVER}"] = _slice(node)
            self._label(node, plugin)
        for present in self.world.of_kind("ResourceSlice"):
            if present["spec"]["driver"] == DRIVER and present["metadata"]["name"] not in wanted:
                self.writer.api.delete(_SLICE.path(name=present["metadata"]["name"]))
        for manifest in wanted.values():
            self.writer.ensure(manifest)

    def _label(self, node: Manifest, plugin: Manifest | None) -> None:
        """Say the node's clique in a label, where the chart is told to."""
        wanted = clique_of(node) if plugin is not None and _labels_cliques(plugin) else None
        if (node["metadata"].get("labels") or {}).get(CLIQUE_LABEL) != (wanted or None):
            self.writer.merge(node, {"metadata": {"labels": {CLIQUE_LABEL: wanted or None}}})


def clique_of(node: Manifest) -> str:
    """Return the NVLink partition a node is in, ``<cluster uuid>.<clique>``; empty for a node without a fabric.

    GPUs tell it in reality; in the simulation a reservation's sub-block stands for an NVLink domain.
    """
    subblock = (node["metadata"].get("labels") or {}).get(_SUBBLOCK, "")
    return f"{uuid.uuid5(uuid.NAMESPACE_URL, subblock)}.0" if subblock else ""


def _labels_cliques(plugin: Manifest) -> bool:
    variables = [entry for container in plugin["spec"]["containers"] for entry in container.get("env", [])]
    return {"name": "GPU_CLIQUE_LABEL_ENABLED", "value": "true"} in variables


def _has_gpus(node: Manifest) -> bool:
    return int(((node.get("status") or {}).get("capacity") or {}).get("nvidia.com/gpu", 0)) > 0


def _slice(node: Manifest) -> dict[str, Any]:
    name = node["metadata"]["name"]
    devices = [
        {"name": f"{kind}-0", "attributes": {"type": {"string": kind}, "id": {"int": 0}}}
        for kind in ("channel", "daemon")
    ]
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"]["uid"]}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{name}-{DRIVER}", "ownerReferences": [owner]},
        "spec": {
            "driver": DRIVER,
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        },
    }
