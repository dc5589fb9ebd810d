"""Pulumi's names of resources."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["STACK_TYPE", "Identity", "alias_urn", "make_urn"]

STACK_TYPE = "pulumi:pulumi:Stack"


def make_urn(stack: str, project: str, resource_type: str, name: str, parent: str) -> str:
    """Build the engine's URN: the chain of parent types, which the root stack is not part of."""
    qualified = resource_type
    if parent:
        parent_chain = parent.split("::")[2]
        if parent_chain != STACK_TYPE:
            qualified = f"{parent_chain}${resource_type}"
    return f"urn:pulumi:{stack}::{project}::{qualified}::{name}"


@dataclass(frozen=True)
class Identity:
    """What a resource's URN is made of; ``parent`` is a URN, or empty."""

    stack: str
    project: str
    type: str
    name: str
    parent: str


def alias_urn(own: Identity, former: Identity, *, no_parent: bool) -> str:
    """Return the URN that an alias names by the parts that were different; empty parts of ``former`` were not."""
    return make_urn(
        former.stack or own.stack,
        former.project or own.project,
        former.type or own.type,
        former.name or own.name,
        "" if no_parent else former.parent or own.parent,
    )
