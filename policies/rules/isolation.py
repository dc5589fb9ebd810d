"""A namespace that the program makes is closed: without a policy, every pod of the cluster reaches every other."""

from __future__ import annotations

from collections.abc import Iterator

from beamline.engine.graph import Graph
from policies.objects import registered_objects
from policies.rule import Finding, Rule

__all__ = ["RULES"]

_BOTH = ["Ingress", "Egress"]


def _open_namespaces(graph: Graph) -> Iterator[Finding]:
    objects = registered_objects(graph)
    closed = {
        obj.namespace
        for obj in objects
        if obj.kind == "NetworkPolicy"
        and obj.at("spec", "podSelector") == {}
        and obj.at("spec", "policyTypes") == _BOTH
        and not obj.at("spec", "ingress")
        and not obj.at("spec", "egress")
    }
    for obj in objects:
        if obj.kind == "Namespace" and obj.name not in closed:
            yield Finding(
                path=obj.path,
                urn=obj.urn,
                detail="no policy of this namespace denies what nobody has named",
                allowed="a NetworkPolicy for all its pods, both directions, without rules",
            )


RULES = (
    Rule(
        id="namespace-not-closed",
        why="any pod of the cluster may reach its pods, and they may reach anything",
        remedy="add the policy, and an opening for each call that has to be",
        source="Kubernetes docs, network policies: deny all traffic",
        find=_open_namespaces,
    ),
)
