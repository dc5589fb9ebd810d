"""Resources go to the project and cluster that the program names, and survive a change of credentials."""

from __future__ import annotations

from collections.abc import Iterator

from beamline.engine.graph import Graph
from policies.rule import Finding, Rule

__all__ = ["RULES"]

_PROVIDER = "pulumi:providers:kubernetes"
_EXPLICIT = {
    "gcp": "a gcp.Provider with this stack's project",
    "kubernetes": "a kubernetes.Provider built from this stack's cluster",
}
"""Package -> the provider its resources need."""


def _default_provider(graph: Graph) -> Iterator[Finding]:
    for resource in graph.resources:
        package, _, kind = resource.type.partition(":")
        is_explicit = resource.provider and not resource.provider.rpartition("::")[2].startswith("default")
        if resource.custom and package in _EXPLICIT and not is_explicit:
            yield Finding(
                path=f"{kind.rpartition(':')[2]}/{resource.name}.provider",
                urn=resource.urn,
                value=resource.provider or None,
                detail="no provider was chosen for it",
                allowed=_EXPLICIT[package],
            )


def _cluster_identifier(graph: Graph) -> Iterator[Finding]:
    for resource in graph.resources:
        identifier = resource.inputs.get("clusterIdentifier")
        if resource.type == _PROVIDER and not (isinstance(identifier, str) and identifier):
            yield Finding(
                path=f"{_PROVIDER}/{resource.name}.clusterIdentifier",
                urn=resource.urn,
                detail="the provider has no cluster identifier that is known while planning",
                allowed="a literal text, such as project/location/cluster",
            )


RULES = (
    Rule(
        id="default-provider",
        why="Pulumi would use whatever project or kubeconfig is current on the machine that runs `up`",
        remedy="pass the provider down: ResourceOptions(parent=self) inherits it from the component",
        source="Pulumi docs, default and explicit providers",
        find=_default_provider,
    ),
    Rule(
        id="cluster-identifier",
        why="when the kubeconfig is unknown or changes, Pulumi replaces every object in the cluster, "
        "unless the identifier says that it is the same cluster",
        remedy="set cluster_identifier to a literal on the kubernetes.Provider",
        source="pulumi-kubernetes provider, DiffConfig; pulumi/pulumi-kubernetes#4019",
        find=_cluster_identifier,
    ),
)
