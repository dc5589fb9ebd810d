"""SIMULATED kubelets: mount the volumes that pods name a CSI driver for, where the cluster has the driver.

The simulated containers of such a pod wait for the annotation that is set here. A real kubelet asks the driver on the
node; it holds the pod in ContainerCreating, with an event, while there is none. Cloud Storage FUSE also wants the
container that GKE's webhook adds to pods with its annotation. Nothing is mounted here, and nothing is added: what that
container would take of a node is not taken.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from beamline.sandbox.operators.pods import going
from beamline.sandbox.operators.world import Manifest, World
from beamline.sandbox.operators.writing import Writer

__all__ = ["MOUNTED", "Volumes"]

MOUNTED = "sandbox.beamline.dev/mounted"
"""Annotation of a pod whose containers may run; the stages in ``stages/pod.yaml`` wait for it."""
_FUSE = "gcsfuse.csi.storage.gke.io"
_FUSE_ANNOTATION = "gke-gcsfuse/volumes"


@dataclass
class Volumes:
    """The kubelets of one cluster."""

    world: World
    writer: Writer

    def run_once(self) -> float | None:
        """Let every scheduled pod run whose volumes are mounted."""
        drivers = {driver["metadata"]["name"] for driver in self.world.of_kind("CSIDriver")}
        for pod in self.world.of_kind("Pod"):
            volumes = [volume for volume in pod["spec"].get("volumes", []) if "csi" in volume]
            annotations = pod["metadata"].get("annotations") or {}
            if not volumes or MOUNTED in annotations or going(pod) or not pod["spec"].get("nodeName"):
                continue
            obstacles = [
                f'MountVolume.SetUp failed for volume "{volume["name"]}" : {reason}'
                for volume in volumes
                for reason in _obstacles(volume["csi"], annotations, drivers)
            ]
            if obstacles:
                self.writer.warn(pod, "FailedMount", "; ".join(obstacles), "kubelet")
            else:
                self.writer.merge(pod, {"metadata": {"annotations": {MOUNTED: "true"}}})
        return None


def _obstacles(source: dict[str, Any], annotations: Manifest, drivers: set[str]) -> Iterator[str]:
    driver = source["driver"]
    if driver not in drivers:
        yield (
            "kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: "
            f"driver name {driver} not found in the list of registered CSI drivers"
        )
    elif driver == _FUSE and str(annotations.get(_FUSE_ANNOTATION)).lower() != "true":
        yield "rpc error: code = FailedPrecondition desc = failed to find the sidecar container in Pod spec"
