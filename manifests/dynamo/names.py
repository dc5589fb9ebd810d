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
    "SYSTEM_PORT_NAME",
    "frontend_reference",
    "graph_name",
    "graph_service_account",
    "member_selector",
]

GRAPH = "dynamo"
"""What the name of every graph begins with, and the label of its pods."""
FRONTEND = "frontend"
MAIN = "main"
"""The container that the operator completes with its defaults; every other one has to be complete."""
FRONTEND_PORT_NAME = "http"
SYSTEM_PORT_NAME = "system"
"""The operator makes Services that name the ports so."""


def graph_name(spec: StackSpec) -> str:
    """The graph's name. How many nodes a component spans cannot be changed; with another number it is another graph."""
    nodes = spec.derived.nodes_per_replica
    return GRAPH if nodes == 1 else f"{GRAPH}-nodes{nodes}"


def graph_service_account(spec: StackSpec) -> str:
    """The account that the operator makes for the graph, and that every pod of it runs as.

    Source: ai-dynamo/dynamo 2a6da14, deploy/operator/internal/discovery (the graph's name and a suffix)
    """
    return f"{graph_name(spec)}-k8s-service-discovery"


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
