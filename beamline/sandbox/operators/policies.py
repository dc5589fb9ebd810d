"""GKE's policies and managed Prometheus: whether they have something to act on."""

from typing import Any

from beamline.sandbox.operators.conditions import Condition, written
from beamline.sandbox.operators.world import Manifest, World

__all__ = ["TARGETS", "monitoring_status", "policy_status"]

TARGETS: dict[str, set[tuple[str, str]]] = {
    "HealthCheckPolicy": {("", "Service"), ("inference.networking.k8s.io", "InferencePool")},
    "GCPBackendPolicy": {("", "Service"), ("inference.networking.k8s.io", "InferencePool")},
    "GCPGatewayPolicy": {("gateway.networking.k8s.io", "Gateway")},
}
"""Policy kind to the group and kind of what it can be attached to."""


def policy_status(policy: Manifest, world: World, now: str) -> dict[str, Any]:
    """Return the status of a policy: attached, or why not."""
    reason, message = _obstacle(policy, world)
    condition = Condition("Attached", status=not reason, reason=reason or "Attached", message=message)
    before = (policy.get("status") or {}).get("conditions") or []
    return {"conditions": written([condition], before, int(policy["metadata"].get("generation", 0)), now)}


def monitoring_status(monitoring: Manifest, now: str) -> dict[str, Any]:
    """Return the status that Google's managed Prometheus gives a configuration it has taken."""
    generation = int(monitoring["metadata"].get("generation", 0))
    before = (monitoring.get("status") or {}).get("conditions") or []
    old = before[0] if before else {}
    fresh = (monitoring.get("status") or {}).get("observedGeneration") == generation
    return {
        "observedGeneration": generation,
        "conditions": [
            {
                "type": "ConfigurationCreateSuccess",
                "status": "True",
                "lastTransitionTime": old.get("lastTransitionTime", now),
                "lastUpdateTime": old.get("lastUpdateTime", now) if fresh else now,
            }
        ],
    }


def _obstacle(policy: Manifest, world: World) -> tuple[str, str]:
    kind, home, ref = policy["kind"], policy["metadata"]["namespace"], policy["spec"]["targetRef"]
    title = f'{ref["kind"]} "{ref.get("namespace", home)}/{ref["name"]}"'
    if (ref["group"], ref["kind"]) not in TARGETS[kind]:
        return "Invalid", f"a {kind} cannot be attached to {ref['group'] or 'core'} {ref['kind']}"
    if ref.get("namespace", home) != home:
        return "RefNotPermitted", f"{title} is in another namespace"
    if world.find(ref["kind"], home, ref["name"]) is None:
        return "TargetNotFound", f"{title} was not found"
    if problem := _iap_problem(policy, world):
        return "Invalid", problem
    for other in world.of_kind(kind):
        theirs = other["spec"]["targetRef"]
        same = (theirs["group"], theirs["kind"], theirs["name"]) == (ref["group"], ref["kind"], ref["name"])
        if same and other["metadata"]["namespace"] == home and _older(other, policy):
            return "Conflicted", f"{title} has the older {kind} {other['metadata']['name']!r}"
    return "", ""


def _iap_problem(policy: Manifest, world: World) -> str:
    """What Identity-Aware Proxy lacks. The rule is the public API's; the wording is the simulation's.

    Data of Secrets is not kept here, so an entry of another name than ``key`` goes unnoticed.
    """
    iap = (policy["spec"].get("default") or {}).get("iap") or {}
    if not iap.get("enabled"):
        return ""
    secret = (iap.get("oauth2ClientSecret") or {}).get("name", "")
    if not iap.get("clientID") or not secret:
        return "iap needs clientID and oauth2ClientSecret"
    home = policy["metadata"]["namespace"]
    return "" if world.find("Secret", home, secret) else f'Secret "{home}/{secret}" was not found'


def _older(one: Manifest, other: Manifest) -> bool:
    def age(policy: Manifest) -> tuple[str, str]:
        return policy["metadata"].get("creationTimestamp", ""), policy["metadata"]["name"]

    return age(one) < age(other)
