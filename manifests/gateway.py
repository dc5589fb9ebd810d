"""The way in: a load balancer of GKE's Gateway controller, and the route from it to what serves.

HTTPS needs a regional certificate that exists in the project; without one the listener is plain HTTP, which the types
allow for the internal class alone. ``up`` waits until the load balancer is programmed and the route is taken.
Sources: https://cloud.google.com/kubernetes-engine/docs/how-to/deploying-gateways;
https://cloud.google.com/kubernetes-engine/docs/how-to/deploy-gke-inference-gateway
"""

from __future__ import annotations

from typing import Any

from manifests.backend import backend
from manifests.naming import GATEWAY, metadata
from manifests.objects import KubernetesObject
from stacks.resolve import StackSpec

__all__ = ["gateway", "route"]

_API_VERSION = "gateway.networking.k8s.io/v1"
_GROUP = "gateway.networking.k8s.io"


def gateway(spec: StackSpec) -> KubernetesObject:
    """The Gateway. Only routes of its own namespace may use it."""
    return KubernetesObject(
        area="gateway",
        name="gateway",
        body={
            "apiVersion": _API_VERSION,
            "kind": "Gateway",
            "metadata": metadata(spec, GATEWAY, component=GATEWAY),
            "spec": {
                "gatewayClassName": spec.preset.serving.router.gateway.gateway_class,
                "listeners": [_listener(spec)],
            },
        },
        timeout_s=spec.derived.gateway_budget_s,
        wait_for=("condition=Programmed",),
    )


def _listener(spec: StackSpec) -> dict[str, Any]:
    routes = {"namespaces": {"from": "Same"}}
    certificate = spec.preset.serving.router.gateway.certificate
    if certificate is None:
        return {"name": "http", "port": 80, "protocol": "HTTP", "allowedRoutes": routes}
    return {
        "name": "https",
        "port": 443,
        "protocol": "HTTPS",
        "tls": {"mode": "Terminate", "options": {"networking.gke.io/pre-shared-certs": certificate}},
        "allowedRoutes": routes,
    }


def route(spec: StackSpec) -> KubernetesObject:
    """All paths go to one backend. Its timeout is the backend's (see ``manifests.backend_policies``)."""
    return KubernetesObject(
        area="gateway",
        name="route",
        body={
            "apiVersion": _API_VERSION,
            "kind": "HTTPRoute",
            "metadata": metadata(spec, backend(spec).name, component=GATEWAY),
            "spec": {
                "parentRefs": [
                    {"group": _GROUP, "kind": "Gateway", "name": GATEWAY, "sectionName": _listener(spec)["name"]}
                ],
                "rules": [
                    {
                        "matches": [{"path": {"type": "PathPrefix", "value": "/"}}],
                        "backendRefs": [{**backend(spec).reference, "weight": 1}],
                    }
                ],
            },
        },
        timeout_s=spec.derived.gateway_budget_s,
        wait_for=(_parent_condition("Accepted"), _parent_condition("ResolvedRefs")),
        after=("gateway", "health-check", "backend-policy"),
    )


def _parent_condition(condition: str) -> str:
    """A route's conditions are kept per parent; this one has one parent."""
    return f'jsonpath={{.status.parents[0].conditions[?(@.type=="{condition}")].status}}=True'
