"""Every resource belongs to a component."""

from __future__ import annotations

from collections.abc import Iterator

from beamline.engine.graph import Graph
from policies.rule import Finding, Rule
from stacks.urns import STACK_TYPE

__all__ = ["RULES"]

_ROOT = "beamline:stack:InferenceStack"


def _without_component(graph: Graph) -> Iterator[Finding]:
    by_urn = {resource.urn: resource for resource in graph.resources}
    has_root = any(resource.type == _ROOT for resource in graph.resources)
    for resource in graph.resources:
        parent = by_urn.get(resource.parent)
        may_stand_alone = resource.type in (STACK_TYPE, _ROOT) or not (resource.custom or has_root)
        if not may_stand_alone and (parent is None or parent.type == STACK_TYPE):
            yield Finding(
                path=f"{resource.type}/{resource.name}.parent",
                urn=resource.urn,
                detail="the resource hangs directly under the stack",
                allowed="a component of this program",
            )


RULES = (
    Rule(
        id="parented",
        why="it would escape the protection, aliases and deletion order of the component that made it",
        remedy="create it with ResourceOptions(parent=self) inside a component",
        source="Pulumi docs, component resources; beamline docs/design.md",
        find=_without_component,
    ),
)
