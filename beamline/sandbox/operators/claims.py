"""SIMULATED kubelets: prepare what pods claim by DRA before their containers run.

The simulated containers of a pod with claims wait for the annotation that is set here. A real kubelet asks the driver's
plugin on the node; it holds the pod in ContainerCreating, with an event, until the plugin has prepared the devices.
Devices of drivers without a simulated plugin (GKE's own) count as prepared once they are allocated.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from beamline.sandbox.operators.pods import going
from beamline.sandbox.operators.world import Manifest, World
from beamline.sandbox.operators.writing import Writer

__all__ = ["PREPARED", "Claims", "Prepare", "claims_of"]

PREPARED = "sandbox.beamline.dev/prepared"
"""Annotation of a pod whose containers may run; the stages in ``stages/pod.yaml`` wait for it."""

Prepare = Callable[[Manifest, Manifest], str]
"""Given a pod and one of its claims: what keeps a driver from preparing it; empty when it is prepared."""


@dataclass
class Claims:
    """The kubelets of one cluster."""

    world: World
    writer: Writer
    drivers: Mapping[str, Prepare]

    def run_once(self) -> float | None:
        """Let every scheduled pod run whose claims are prepared."""
        for pod in self.world.of_kind("Pod"):
            held = pod["spec"].get("resourceClaims") and not going(pod) and pod["spec"].get("nodeName")
            if not held or PREPARED in (pod["metadata"].get("annotations") or {}):
                continue
            obstacles = list(self._obstacles(pod))
            if obstacles:
                message = f"Failed to prepare dynamic resources: {'; '.join(obstacles)}"
                self.writer.warn(pod, "FailedPrepareDynamicResources", message, "kubelet")
            else:
                self.writer.merge(pod, {"metadata": {"annotations": {PREPARED: "true"}}})
        return None

    def _obstacles(self, pod: Manifest) -> Iterator[str]:
        claims = list(claims_of(pod, self.world))
        if len(claims) < len(pod["spec"]["resourceClaims"]):
            yield "a claim does not exist yet"
        for claim in claims:
            for driver in {result["driver"] for result in _results(claim)}:
                prepare = self.drivers.get(driver)
                if prepare is not None and (obstacle := prepare(pod, claim)):
                    yield f"claim {claim['metadata']['name']}: {driver}: {obstacle}"


def claims_of(pod: Manifest, world: World) -> Iterator[Manifest]:
    """Yield the allocated claims of a pod: those made for it from templates, and shared ones it names."""
    made = {
        entry["name"]: entry.get("resourceClaimName")
        for entry in (pod.get("status") or {}).get("resourceClaimStatuses") or []
    }
    for entry in pod["spec"].get("resourceClaims") or []:
        name = entry.get("resourceClaimName") or made.get(entry["name"])
        claim = world.find("ResourceClaim", pod["metadata"]["namespace"], name) if name else None
        if claim is not None and (claim.get("status") or {}).get("allocation"):
            yield claim


def _results(claim: Manifest) -> list[Mapping[str, Any]]:
    results: list[Mapping[str, Any]] = claim["status"]["allocation"]["devices"].get("results") or []
    return results
