"""What the controllers need to know of pods."""

from collections.abc import Iterable
from typing import Any

from beamline.sandbox.operators.world import Manifest, World

__all__ = ["broken", "going", "is_ready", "ready_deployment", "runs", "why_waiting"]


def is_ready(pod: Manifest) -> bool:
    """Tell whether a pod is ready and not going."""
    return not going(pod) and _condition(pod, "Ready").get("status") == "True"


def going(manifest: Manifest) -> bool:
    """Tell whether an object is being deleted."""
    return "deletionTimestamp" in manifest["metadata"]


def broken(pod: Manifest) -> bool:
    """Tell whether a pod has failed, or one of its containers was started again."""
    status = pod.get("status") or {}
    restarts = [entry.get("restartCount", 0) for entry in status.get("containerStatuses") or []]
    return status.get("phase") == "Failed" or any(restarts)


def why_waiting(pod: Manifest) -> str:
    """Say why a pod is not ready, in Kubernetes' own words; empty for a pod that is."""
    if is_ready(pod):
        return ""
    name = pod["metadata"]["name"]
    scheduled = _condition(pod, "PodScheduled")
    if scheduled.get("status") == "False":
        return f"pod {name} cannot be scheduled: {scheduled.get('message', '')}"
    phase = (pod.get("status") or {}).get("phase", "Pending")
    return f"pod {name} is {phase}, not ready"


def runs(spec: dict[str, Any], program: str) -> bool:
    """Tell whether a pod spec has a container that starts a program, as its command and arguments say."""
    return any(
        program in word for entry in spec["containers"] for word in [*entry.get("command", []), *entry.get("args", [])]
    )


def ready_deployment(world: World, program: str) -> Manifest | None:
    """Return the Deployment of an operator that is installed and works; None without one.

    An operator is told by the program it starts: names and labels are the user's to change.
    """
    for deployment in world.of_kind("Deployment"):
        ready = (deployment.get("status") or {}).get("readyReplicas", 0)
        if ready and not going(deployment) and runs(deployment["spec"]["template"]["spec"], program):
            return deployment
    return None


def _condition(pod: Manifest, kind: str) -> Manifest:
    conditions: Iterable[Manifest] = (pod.get("status") or {}).get("conditions") or []
    return next((condition for condition in conditions if condition["type"] == kind), {})
