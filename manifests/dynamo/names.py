"""Names and labels of a Dynamo graph, and how other objects find its pods.

Dynamo's operator makes a Grove PodCliqueSet of the graph, and Grove writes its own values over the pods' recommended
labels (``app.kubernetes.io/name``, ``component``, ``part-of``, ``managed-by``). Whoever selected by these would find no
pod, so pods of a graph carry labels with a prefix of the kit's own and are selected by those.
Source: ai-dynamo/grove fcc3533, operator/internal/controller/podcliqueset/components/podclique/podclique.go, getLabels
"""

from __future__ import annotations

from manifests.chosen import dynamo_release
from stacks.resolve import StackSpec
from stacks.roles import RoleName

__all__ = [
    "FRONTEND",
    "FRONTEND_PORT_NAME",
    "GRAPH",
    "MAIN",
    "SERVICE_ACCOUNT",
    "SYSTEM_PORT_NAME",
    "frontend_reference",
    "member_selector",
]

GRAPH = "dynamo"
"""What the name of every graph begins with, and the label of its pods."""
SERVICE_ACCOUNT = f"{GRAPH}-k8s-service-discovery"
"""The operator makes it for the graph, and every pod of the graph runs as it (discovery package, DGD name + suffix)."""
FRONTEND = "frontend"
MAIN = "main"
"""The container that the operator completes with its defaults; every other one has to be complete."""
FRONTEND_PORT_NAME = "http"
SYSTEM_PORT_NAME = "system"
"""The operator makes Services that name the ports so."""


def member_selector(spec: StackSpec, component: str | None = None, *, role: RoleName | None = None) -> dict[str, str]:
    """Labels that find the graph's pods: all, those of one component (frontend, engine), or of one role of engines."""
    found = {"app.kubernetes.io/instance": spec.name, "beamline/graph": GRAPH}
    if component is not None:
        found["beamline/component"] = component
    if role is not None:
        found["beamline/role"] = role
    return found


def frontend_reference(spec: StackSpec) -> dict[str, str | int]:
    """How a route names the frontends' Service."""
    return {"kind": "Service", "name": FRONTEND, "port": dynamo_release(spec).ports.frontend}
