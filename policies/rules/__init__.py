"""All rules, in the order they are explained in; findings are sorted by whoever prints them."""

from __future__ import annotations

from beamline.engine.graph import Graph
from policies.rule import Rule
from policies.rules import (
    caches,
    fabric,
    gateways,
    identities,
    images,
    isolation,
    node_system,
    nodes,
    output_text,
    parents,
    placement,
    providers,
    references,
    scaling,
    scraping,
    secrets,
    selectors,
    volumes,
)
from stacks.problems import Problem

__all__ = ["RULES", "rule_problems"]

RULES: tuple[Rule, ...] = (
    *providers.RULES,
    *parents.RULES,
    *secrets.RULES,
    *identities.RULES,
    *nodes.RULES,
    *node_system.RULES,
    *isolation.RULES,
    *gateways.RULES,
    *selectors.RULES,
    *scaling.RULES,
    *references.RULES,
    *scraping.RULES,
    *volumes.RULES,
    *caches.RULES,
    *placement.RULES,
    *fabric.RULES,
    *images.RULES,
    *output_text.RULES,
)


def rule_problems(graph: Graph) -> list[Problem]:
    """Run every rule over ``graph`` and return everything found."""
    return [problem for rule in RULES for problem in rule.problems(graph)]
