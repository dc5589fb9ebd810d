"""Gateways and their classes: what GKE's Gateway controller reports.

Conditions and texts are those of GKE clusters of 2025 and 2026 (public ``kubectl describe`` outputs).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from beamline.sandbox.operators.conditions import Condition, written
from beamline.sandbox.operators.load_balancers import LoadBalancer
from beamline.sandbox.operators.world import Manifest, World

__all__ = ["CONTROLLER", "Verdict", "class_status", "gateway_status", "is_managed", "judge", "wanted_load_balancer"]

CONTROLLER = "networking.gke.io/gateway"

_REGIONAL = {"gke-l7-regional-external-managed", "gke-l7-rilb"}
_INTERNAL = {"gke-l7-rilb"}
_DEPRECATED_READY = (
    'The OSS Gateway API has altered the "Ready" condition semantics and reserved it for future use.  GKE Gateway will '
    'stop emitting it in a future update, use "Programmed" instead.'
)
_SCHEDULED = "The OSS Gateway API has deprecated this condition, do not depend on it."


@dataclass(frozen=True)
class Verdict:
    """What is wrong with a Gateway: nothing, its reason and text, and whether a listener's reference is the cause."""

    reason: str = ""
    message: str = ""
    listener: str = ""

    @property
    def fine(self) -> bool:
        """Nothing is wrong."""
        return not self.reason


def is_managed(gateway: Manifest, world: World) -> bool:
    """Tell whether the Gateway's class exists and is GKE's."""
    found = world.find("GatewayClass", "", gateway["spec"]["gatewayClassName"])
    return found is not None and found["spec"]["controllerName"] == CONTROLLER


def class_status(gateway_class: Manifest, now: str) -> dict[str, Any]:
    """Return the status of one of GKE's classes."""
    conditions = [Condition("Accepted", status=True, reason="Accepted")]
    return {"conditions": written(conditions, _before(gateway_class), _generation(gateway_class), now)}


def wanted_load_balancer(gateway: Manifest) -> LoadBalancer:
    """Return what the Gateway asks of the cloud."""
    name = gateway["spec"]["gatewayClassName"]
    named = [a["value"] for a in gateway["spec"].get("addresses") or [] if a.get("type") == "NamedAddress"]
    metadata = gateway["metadata"]
    return LoadBalancer(
        namespace=metadata["namespace"],
        gateway=metadata["name"],
        uid=metadata["uid"],
        regional=name in _REGIONAL,
        internal=name in _INTERNAL,
        named_address=named[0] if named else "",
    )


def judge(gateway: Manifest, world: World) -> Verdict:
    """Say what is wrong with a Gateway by itself and with what it refers to in the cluster."""
    metadata, spec = gateway["metadata"], gateway["spec"]
    title = f'Gateway "{metadata["namespace"]}/{metadata["name"]}" is invalid'
    for address in spec.get("addresses") or []:
        kind = address.get("type", "IPAddress")
        if kind != "NamedAddress":
            text = (
                f'Error GWCER106: {title}, err: unsupported address type "{kind}", only "NamedAddress" is supported..'
            )
            return Verdict("UnsupportedAddress", text)
    for listener in spec["listeners"]:
        if listener["protocol"] not in ("HTTP", "HTTPS"):
            text = f'Error GWCER106: {title}, err: listener "{listener["name"]}": unsupported protocol..'
            return Verdict("UnsupportedProtocol", text, listener["name"])
        if text := _certificate_problem(listener, metadata["namespace"], world):
            return Verdict("InvalidCertificateRef", f"Error GWCER106: {title}, err: {text}..", listener["name"])
    return Verdict()


def gateway_status(
    gateway: Manifest, verdict: Verdict, *, address: str, routes: dict[str, int], now: str
) -> dict[str, Any]:
    """Return the status of a Gateway of GKE's. ``address`` is empty as long as the load balancer is not there.

    ``routes``: listener name to number of attached routes.
    """
    done = verdict.fine and bool(address)
    pending = verdict.fine and not address
    conditions = [
        Condition("Scheduled", status=True, reason="Scheduled", message=_SCHEDULED),
        Condition("Accepted", status=True, reason="Accepted"),
        Condition("Programmed", status=done, reason=_programmed(verdict, done=done), message=verdict.message),
        Condition("Ready", status=done, reason="Ready" if done else "NotReady", message=_DEPRECATED_READY),
        Condition(
            "networking.gke.io/GatewayHealthy",
            status=None if pending else done,
            reason="Healthy" if done else "Pending" if pending else "Error",
            message="" if verdict.fine else f"Gateway: Invalid : {verdict.message}",
        ),
    ]
    before = {entry["name"]: entry for entry in (gateway.get("status") or {}).get("listeners") or []}
    generation = _generation(gateway)
    status: dict[str, Any] = {
        "conditions": written(conditions, _before(gateway), generation, now),
        "listeners": [
            {
                "name": listener["name"],
                "attachedRoutes": routes.get(listener["name"], 0),
                "supportedKinds": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute"}],
                "conditions": written(
                    _listener(listener["name"], verdict, done=done),
                    before.get(listener["name"], {}).get("conditions", []),
                    generation,
                    now,
                ),
            }
            for listener in gateway["spec"]["listeners"]
        ],
    }
    if address:
        status["addresses"] = [{"type": "IPAddress", "value": address}]
    return status


def _listener(name: str, verdict: Verdict, *, done: bool) -> Sequence[Condition]:
    blamed = not verdict.fine and verdict.listener in ("", name)
    resolved = not (blamed and verdict.reason == "InvalidCertificateRef")
    return (
        Condition("ResolvedRefs", status=resolved, reason="ResolvedRefs" if resolved else verdict.reason),
        Condition(
            "Accepted",
            status=not blamed,
            reason=verdict.reason if blamed else "Accepted",
            message=verdict.message if blamed else "",
        ),
        Condition("Programmed", status=done, reason="Programmed" if done else "Pending"),
    )


def _programmed(verdict: Verdict, *, done: bool) -> str:
    if done:
        return "Programmed"
    return "Pending" if verdict.fine else "Invalid"


def _certificate_problem(listener: Manifest, namespace: str, world: World) -> str:
    for ref in (listener.get("tls") or {}).get("certificateRefs") or []:
        if ref.get("kind", "Secret") != "Secret" or ref.get("group", ""):
            return f'certificate "{ref["name"]}" of listener "{listener["name"]}" is no Secret'
        if ref.get("namespace", namespace) != namespace:
            return f'certificate "{ref["name"]}" of listener "{listener["name"]}" is in another namespace'
        if world.find("Secret", namespace, ref["name"]) is None:
            return f'Secret "{namespace}/{ref["name"]}" of listener "{listener["name"]}" was not found'
    return ""


def _before(manifest: Manifest) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (manifest.get("status") or {}).get("conditions") or []
    return found


def _generation(manifest: Manifest) -> int:
    return int(manifest["metadata"].get("generation", 0))
