"""Resources go to the project and cluster that the program names, and survive a change of credentials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from beamline.engine.graph import Graph
from beamline.engine.values import Secret
from policies.objects import entries, section
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


def _contexts(graph: Graph) -> Iterator[Finding]:
    """A kubeconfig that is known while planning; one that the cluster gives is made for it alone."""
    for resource in graph.resources:
        written = resource.inputs.get("kubeconfig")
        text = written.value if isinstance(written, Secret) else written
        if resource.type != _PROVIDER or not isinstance(text, str):
            continue
        config = _kubeconfig(text)
        names = [str(entry.get("name")) for entry in entries(config.get("contexts"))]
        chosen = resource.inputs.get("context") or config.get("current-context")
        if len(names) > 1 and chosen not in names:
            yield Finding(
                path=f"{_PROVIDER}/{resource.name}.context",
                urn=resource.urn,
                value=chosen or None,
                detail=f"the kubeconfig has {len(names)} contexts, and none of them is chosen",
                allowed=", ".join(names),
            )


def _kubeconfig(text: str) -> Mapping[str, Any]:
    try:
        return section(yaml.safe_load(text))
    except yaml.YAMLError:
        return {}


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
    Rule(
        id="kubeconfig-context",
        why="objects of the stack would land in whichever cluster comes first",
        remedy="name the context on the kubernetes.Provider, or give it a kubeconfig of one cluster",
        source="pulumi/pulumi-kubernetes#1643, #2357",
        find=_contexts,
    ),
)
