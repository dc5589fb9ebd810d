"""Who may reach the graph's pods. What they say to each other is not authenticated, and some of it is Python objects.

- Pods of the graph reach each other on every port: requests, events and KV cache travel on ports the system chooses.
- Clients reach the frontends' API. The load balancer's requests and probes come from outside the cluster.
- Managed Prometheus reaches the workers' metrics.
The kubelet's probes come from the node, which a policy does not stop.
"""

from __future__ import annotations

from typing import Any

from manifests.chosen import dynamo_release
from manifests.dynamo.names import FRONTEND, GRAPH, member_selector
from manifests.managed_prometheus import collectors
from manifests.naming import ENGINE, metadata
from manifests.objects import KubernetesObject
from stacks.resolve import StackSpec

__all__ = ["network_policies"]


def network_policies(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """One policy for all pods of the graph, one that opens the frontends' API."""
    ports, graph = dynamo_release(spec).ports, member_selector(spec)
    return (
        _policy(
            spec,
            GRAPH,
            component=ENGINE,
            pods=graph,
            ingress=[
                {"from": [{"podSelector": {"matchLabels": graph}}]},
                {"from": [collectors()], "ports": [{"protocol": "TCP", "port": ports.system}]},
            ],
        ),
        _policy(
            spec,
            FRONTEND,
            component=FRONTEND,
            pods=member_selector(spec, FRONTEND),
            ingress=[{"ports": [{"protocol": "TCP", "port": ports.frontend}]}],
        ),
    )


def _policy(
    spec: StackSpec, name: str, *, component: str, pods: dict[str, str], ingress: list[dict[str, Any]]
) -> KubernetesObject:
    return KubernetesObject(
        area="serving",
        name=f"{'graph' if name == GRAPH else name}-network-policy",
        body={
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": metadata(spec, name, component=component),
            "spec": {"podSelector": {"matchLabels": pods}, "policyTypes": ["Ingress"], "ingress": ingress},
        },
    )
