"""NetworkPolicies: everything is denied, and each call of the table is let through.

Each kind of pods has a policy that names both directions, so that it is closed wherever it runs, an existing namespace
included. A namespace of the stack's own denies all its pods besides: whatever else somebody starts there is shut in.
Dataplane V2 enforces them; a dropped packet is not answered, so what is missing shows as a timeout.
Source: https://cloud.google.com/kubernetes-engine/docs/how-to/network-policy
"""

from __future__ import annotations

from typing import Any

from manifests.calls import Call, calls, pods
from manifests.namespaces import OwnNamespace, own_namespaces
from manifests.naming import metadata
from manifests.objects import KubernetesObject
from manifests.parties import Outside, Pods
from stacks.resolve import StackSpec

__all__ = ["network_policies"]


def network_policies(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """One policy for each namespace of the stack's own, and one for each kind of pods."""
    table = calls(spec)
    return (
        *(_default_deny(spec, home) for home in own_namespaces(spec)),
        *(_policy(spec, kind, table) for kind in pods(spec)),
    )


def _default_deny(spec: StackSpec, home: OwnNamespace) -> KubernetesObject:
    return KubernetesObject(
        area=home.area,
        name=f"{home.object_name}-default-deny",
        body=_body(metadata(spec, "default-deny", component=home.component, namespace=home.name), {}, [], []),
        after=(home.object_name,),
    )


def _policy(spec: StackSpec, kind: Pods, table: tuple[Call, ...]) -> KubernetesObject:
    there = [home.object_name for home in own_namespaces(spec) if (home.name, home.area) == (kind.namespace, kind.area)]
    ingress = [_rule("from", call.caller, call) for call in table if call.callee == kind]
    egress = [_rule("to", call.callee, call) for call in table if call.caller == kind]
    meta = metadata(spec, kind.name, component=kind.component, namespace=kind.namespace)
    return KubernetesObject(
        area=kind.area,
        name=f"{kind.name}-network-policy",
        body=_body(meta, kind.selector, ingress, egress),
        after=tuple(there),
    )


def _body(meta: dict[str, Any], selector: Any, ingress: list[Any], egress: list[Any]) -> dict[str, Any]:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": meta,
        "spec": {
            "podSelector": dict(selector),
            "policyTypes": ["Ingress", "Egress"],
            **({"ingress": ingress} if ingress else {}),
            **({"egress": egress} if egress else {}),
        },
    }


def _rule(direction: str, other: Pods | Outside, call: Call) -> dict[str, Any]:
    peers = list(other.peers) if isinstance(other, Outside) else [{"podSelector": dict(other.selector)}]
    ports = [{"protocol": protocol, "port": number} for protocol, number in call.ports]
    return {**({direction: peers} if peers else {}), **({"ports": ports} if ports else {})}
