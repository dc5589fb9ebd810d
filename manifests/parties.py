"""Who talks on a stack's network: its own kinds of pods, and the parties outside that they call or that call them.

Addresses are as Dataplane V2 judges them: after a Service's address has become a pod's or the control plane's. There an
``ipBlock`` never means a pod, and what comes from a pod's own node (probes, port-forwards) is always let in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from manifests.objects import Area
from stacks.resolve import StackSpec

__all__ = [
    "COLLECTORS",
    "CONTROL_PLANE",
    "DNS",
    "GOOGLE_APIS",
    "HEALTH_CHECKERS",
    "KUBERNETES_API",
    "METADATA_SERVER",
    "METADATA_SERVER_BEFORE",
    "METRICS_AGENT",
    "MODEL_HUB",
    "Outside",
    "Pods",
    "proxies",
]


@dataclass(frozen=True)
class Pods:
    """Pods that have a policy of their own. ``selector`` finds them; an empty one finds all of the namespace."""

    name: str
    namespace: str
    selector: Mapping[str, Any]
    area: Area
    component: str


@dataclass(frozen=True)
class Outside:
    """A party that is not the stack's. ``peers`` are a NetworkPolicy's; none: it can be at any address."""

    name: str
    peers: tuple[Mapping[str, Any], ...]


def _at(*blocks: str) -> tuple[Mapping[str, Any], ...]:
    return tuple({"ipBlock": {"cidr": block}} for block in blocks)


def _in_namespaces(*names: str) -> dict[str, Any]:
    key = "kubernetes.io/metadata.name"
    return {"namespaceSelector": {"matchExpressions": [{"key": key, "operator": "In", "values": list(names)}]}}


_DNS_PODS = {"matchExpressions": [{"key": "k8s-app", "operator": "In", "values": ["kube-dns", "node-local-dns"]}]}
DNS = Outside(
    "cluster DNS",
    (
        {**_in_namespaces("kube-system"), "podSelector": _DNS_PODS},
        *_at("169.254.20.10/32", "169.254.169.254/32"),
    ),
)
"""kube-dns, and its cache on the node, to which Dataplane V2 redirects; with Cloud DNS the node's own addresses."""
METADATA_SERVER = Outside("metadata server", _at("169.254.169.254/32"))
METADATA_SERVER_BEFORE = Outside("metadata server, without Dataplane V2", _at("169.254.169.252/32"))
KUBERNETES_API = Outside("Kubernetes API", _at("0.0.0.0/0"))
"""The control plane's address is not known before the cluster is."""
GOOGLE_APIS = Outside("Google APIs", _at("0.0.0.0/0"))
"""Public addresses, or private ones where a VPC has an endpoint for them."""
MODEL_HUB = Outside(
    "model hub",
    (
        {
            "ipBlock": {
                "cidr": "0.0.0.0/0",
                "except": ["10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"],
            }
        },
    ),
)
"""The internet, and nothing private."""
COLLECTORS = Outside("managed Prometheus", (_in_namespaces("gmp-system", "gke-gmp-system"),))
METRICS_AGENT = Outside(
    "GKE's metrics agent",
    ({**_in_namespaces("kube-system"), "podSelector": {"matchLabels": {"k8s-app": "gke-metrics-agent"}}},),
)
"""A DaemonSet. On the node's own network it would be let in anyway; that it is, Google does not say."""
CONTROL_PLANE = Outside("control plane", ())
"""It calls from its own address or through GKE's konnectivity agents; which of them, differs between clusters."""
HEALTH_CHECKERS = Outside("load balancer's health checkers", _at("35.191.0.0/16", "130.211.0.0/22"))


def proxies(spec: StackSpec) -> Outside:
    """The load balancer's proxies: in the proxy-only subnet, at any address where the stack does not know that."""
    cidr = spec.preset.network.proxy_only_cidr
    return Outside("load balancer's proxies", _at(cidr) if cidr else ())
