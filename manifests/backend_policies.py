"""How the load balancer treats what serves, engines or frontends: health checks, timeout and draining.

Without a HealthCheckPolicy the load balancer asks for ``/`` and takes every pod for unhealthy. Without a
GCPBackendPolicy it cuts every response after 30 seconds, and a chart's usual 300 are too few for agents' long turns.
The timeout is longer than the engine's longest request and shorter than the client's: the innermost fires first.
Source: https://cloud.google.com/kubernetes-engine/docs/how-to/configure-gateway-resources
"""

from __future__ import annotations

from typing import Any

from manifests.backend import backend
from manifests.naming import GATEWAY, metadata
from manifests.objects import KubernetesObject
from stacks.resolve import StackSpec
from stacks.spec import IdentityAwareProxy, NoAuthentication

__all__ = ["backend_policy", "health_check"]

_API_VERSION = "networking.gke.io/v1"
_HEALTH_CHECK_S = 5
_UNHEALTHY_AFTER = 3
"""Checks in a row. A pod that goes leaves by way of Kubernetes; this is for engines that hang, and a long prompt can
hold a healthy one up for seconds."""


def health_check(spec: StackSpec) -> KubernetesObject:
    """Ask each pod whether it is well. GKE checks the endpoint picker by itself, on its health port."""
    return KubernetesObject(
        area="gateway",
        name="health-check",
        body={
            "apiVersion": _API_VERSION,
            "kind": "HealthCheckPolicy",
            "metadata": metadata(spec, backend(spec).name, component=GATEWAY),
            "spec": {
                "targetRef": dict(backend(spec).target),
                "default": {
                    "checkIntervalSec": _HEALTH_CHECK_S,
                    "timeoutSec": _HEALTH_CHECK_S,
                    "healthyThreshold": 1,
                    "unhealthyThreshold": _UNHEALTHY_AFTER,
                    "config": {
                        "type": "HTTP",
                        "httpHealthCheck": {
                            "portSpecification": "USE_FIXED_PORT",
                            "port": backend(spec).health_port,
                            "requestPath": backend(spec).health_path,
                        },
                    },
                },
            },
        },
    )


def backend_policy(spec: StackSpec) -> KubernetesObject:
    """Timeout, draining of pods that go, the load balancer's request log, who may ask, and from where."""
    gateway = spec.preset.serving.router.gateway
    return KubernetesObject(
        area="gateway",
        name="backend-policy",
        body={
            "apiVersion": _API_VERSION,
            "kind": "GCPBackendPolicy",
            "metadata": metadata(spec, backend(spec).name, component=GATEWAY),
            "spec": {
                "targetRef": dict(backend(spec).target),
                "default": {
                    "timeoutSec": spec.derived.gateway_timeout_s,
                    "connectionDraining": {"drainingTimeoutSec": spec.derived.backend_drain_s},
                    "logging": {"enabled": True},
                    **_authentication(spec),
                    **({"securityPolicy": gateway.security_policy} if gateway.security_policy else {}),
                },
            },
        },
    )


def _authentication(spec: StackSpec) -> dict[str, Any]:
    """Identity-Aware Proxy, where the preset names it. The Secret is its owner's; nothing of it is in a manifest."""
    match spec.preset.serving.router.gateway.authentication:
        case IdentityAwareProxy(client_id=client, client_secret=secret):
            return {"iap": {"enabled": True, "clientID": client, "oauth2ClientSecret": {"name": secret}}}
        case NoAuthentication():
            return {}
