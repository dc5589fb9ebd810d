"""A graph as a tree: components, how many resources each holds, and which."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from rich.tree import Tree

from beamline.cli.output import said

if TYPE_CHECKING:
    from beamline.engine.graph import Graph, Resource
from stacks.urns import STACK_TYPE

__all__ = ["resource_tree"]


def resource_tree(graph: Graph) -> Tree:
    """Return the tree under the stack; resources of one type in one component share a line."""
    children: dict[str, list[Resource]] = defaultdict(list)
    for resource in graph.resources:
        children[resource.parent].append(resource)
    root = next(resource for resource in graph.resources if resource.type == STACK_TYPE)
    tree = Tree(said(f"{root.name} ({_held(root.urn, children)})"))
    _grow(tree, root.urn, children)
    return tree


def _held(urn: str, children: dict[str, list[Resource]]) -> int:
    """Resources below ``urn``, components not counted."""
    return sum(resource.custom + _held(resource.urn, children) for resource in children[urn])


def _grow(tree: Tree, urn: str, children: dict[str, list[Resource]]) -> None:
    leaves: dict[str, list[str]] = defaultdict(list)
    for resource in children[urn]:
        if resource.custom and not children[resource.urn]:
            leaves[resource.type].append(resource.name)
        else:
            label = f"{_kind(resource.type)} {resource.name} ({_held(resource.urn, children)})"
            _grow(tree.add(said(label)), resource.urn, children)
    for kind, names in sorted(leaves.items()):
        count = f" ({len(names)})" if len(names) > 1 else ""
        tree.add(said(f"{_kind(kind)}{count}: {', '.join(sorted(names))}"))


def _kind(token: str) -> str:
    """Write a type token as Python users know it: ``gcp.container.NodePool``, ``kubernetes.apps.v1.Deployment``."""
    package, module, name = token.split(":")
    if package == "pulumi":
        return f"{name} provider" if module == "providers" else name
    return ".".join((package, *module.split("/")[: 2 if package == "kubernetes" else 1], name))
