"""Everything that can be judged on a captured graph without a server, in one call."""

from __future__ import annotations

from beamline.checks.engines import engine_problems
from beamline.checks.kubernetes_schemas import schema_problems
from beamline.checks.sdk_inputs import sdk_input_problems
from beamline.engine.graph import Graph
from policies import rule_problems
from policies.objects import registered_objects
from stacks.problems import Problem
from stacks.versions import minor

__all__ = ["graph_problems"]


def graph_problems(graph: Graph, cluster_version: str) -> list[Problem]:
    """Return what schemas, SDK input types, rules and engines' flags find.

    ``cluster_version`` is GKE's, ``1.35.8-gke.1036000``.
    """
    return [
        *sdk_input_problems(graph),
        *schema_problems(registered_objects(graph), minor(cluster_version)),
        *rule_problems(graph),
        *engine_problems(graph),
    ]
