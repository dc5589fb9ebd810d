"""The proxy before a decode engine: it has a prompt computed by the prefill engine that the router chose, and then asks
its own engine, which fetches the KV cache from there.

- It is an init container that stays: it is there before the engine and until the engine has finished its requests.
- It listens where the router and the load balancer expect engines, and passes on whatever it does not know. ``/health``
  it answers itself, whatever its engine does, so nothing may judge an engine by that (see ``manifests.backend``).
- It runs as the picker's user, also where the engine must be root for its network cards.
- It holds each prompt as text and as what it read from it, and sends it to two engines.
- It goes to whatever prefill address a request's header names. The router writes that header; the network policy lets
  decode pods reach nothing but prefill pods, whoever writes it.
- It closes idle connections before Google's proxies do, which no flag changes: ``plan`` says what that means
  (``stacks.checks.llmd``).

Source: llm-d-router v0.10.0, pkg/sidecar/proxy (options.go, proxy.go, proxy_helpers.go, connector_nixlv2.go)
"""

from __future__ import annotations

from typing import Any

from manifests.chosen import llmd_release
from manifests.flags import flags
from manifests.pod_security import confined
from stacks.resolve import StackSpec
from stacks.roles import Role

__all__ = ["routing_sidecar"]

_NAME = "routing-proxy"
_PORT_NAME = "proxy"


def routing_sidecar(spec: StackSpec, role: Role) -> list[dict[str, Any]]:
    """Return the container, for pods that need it."""
    if role.name != "decode":
        return []
    row, user, port = llmd_release(spec).routing_sidecar, llmd_release(spec).user, spec.derived.engine_port
    memory = f"{spec.derived.proxy_memory_gib}Gi"
    return [
        {
            "name": _NAME,
            "image": str(spec.images["routing_sidecar"]),
            "restartPolicy": "Always",
            "args": [
                *flags({"port": port, "model-server-port": row.engine_port, "kv-connector": row.connector}),
                f"--{row.tls_flag}=false",
            ],
            "ports": [{"name": _PORT_NAME, "containerPort": port, "protocol": "TCP"}],
            "startupProbe": {"tcpSocket": {"port": _PORT_NAME}, "periodSeconds": 1, "failureThreshold": 60},
            "resources": {
                "requests": {"cpu": str(row.cpu), "memory": memory},
                "limits": {"memory": memory},
            },
            "securityContext": {**confined(), "runAsNonRoot": True, "runAsUser": user.uid, "runAsGroup": user.uid},
        }
    ]
