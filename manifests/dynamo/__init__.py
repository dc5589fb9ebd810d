"""NVIDIA Dynamo: its platform, and the graph of frontends and workers that its operator deploys."""

from __future__ import annotations

from manifests.dynamo.names import (
    FRONTEND,
    FRONTEND_PORT_NAME,
    SYSTEM_PORT_NAME,
    frontend_reference,
    graph_service_account,
    member_selector,
)
from manifests.dynamo.objects import dynamo_objects
from manifests.dynamo.platform import dynamo_releases

__all__ = [
    "FRONTEND",
    "FRONTEND_PORT_NAME",
    "SYSTEM_PORT_NAME",
    "dynamo_objects",
    "dynamo_releases",
    "frontend_reference",
    "graph_service_account",
    "member_selector",
]
