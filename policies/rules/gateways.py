"""What the internet can reach asks who calls, and speaks TLS: strangers find an open endpoint soon."""

from __future__ import annotations

from collections.abc import Iterator

from beamline.engine.graph import Graph
from policies.objects import RegisteredObject, entries, registered_objects, section
from policies.rule import Finding, Rule

__all__ = ["RULES"]

_FROM_THE_INTERNET = ("external", "gxlb")
"""Parts of the names of GKE's classes that make a public address."""


def _public(graph: Graph) -> Iterator[RegisteredObject]:
    for obj in registered_objects(graph):
        name = str(obj.at("spec", "gatewayClassName"))
        if obj.kind == "Gateway" and any(part in name for part in _FROM_THE_INTERNET):
            yield obj


def _clear_text(graph: Graph) -> Iterator[Finding]:
    for gateway in _public(graph):
        for index, listener in enumerate(entries(gateway.at("spec", "listeners"))):
            if listener.get("protocol") != "HTTPS":
                yield Finding(
                    path=f"{gateway.path}.spec.listeners[{index}].protocol",
                    urn=gateway.urn,
                    value=listener.get("protocol"),
                    detail="this listener has a public address",
                    allowed="HTTPS",
                )


def _open(graph: Graph) -> Iterator[Finding]:
    policies = [obj for obj in registered_objects(graph) if obj.kind == "GCPBackendPolicy"]
    guarded = {
        (obj.namespace, str(target.get("kind")), str(target.get("name")))
        for obj in policies
        for target in (section(obj.at("spec", "targetRef")),)
        if obj.at("spec", "default", "iap", "enabled") is True
    }
    for gateway in _public(graph):
        for route in _routes(graph, gateway):
            for kind, name in _backends(route):
                if (route.namespace, kind, name) not in guarded:
                    yield Finding(
                        path=route.path,
                        urn=route.urn,
                        value=f"{kind}/{name}",
                        detail=f"{gateway.path} brings anybody's requests here",
                        allowed="a backend whose GCPBackendPolicy enables iap",
                    )


def _routes(graph: Graph, gateway: RegisteredObject) -> Iterator[RegisteredObject]:
    for obj in registered_objects(graph):
        parents = entries(obj.at("spec", "parentRefs"))
        if obj.kind == "HTTPRoute" and any(parent.get("name") == gateway.name for parent in parents):
            yield obj


def _backends(route: RegisteredObject) -> Iterator[tuple[str, str]]:
    for rule in entries(route.at("spec", "rules")):
        for reference in entries(rule.get("backendRefs")):
            yield str(reference.get("kind", "Service")), str(reference.get("name"))


RULES = (
    Rule(
        id="gateway-clear-text",
        why="prompts, answers and tokens would cross the internet readable",
        remedy="give the listener a certificate and the protocol HTTPS",
        source="GKE docs, secure a Gateway",
        find=_clear_text,
    ),
    Rule(
        id="gateway-not-authenticated",
        why="whoever finds the address uses the GPUs",
        remedy="enable Identity-Aware Proxy in the backend's GCPBackendPolicy, or use an internal class",
        source="GKE docs, secure a Gateway: Identity-Aware Proxy",
        find=_open,
    ),
)
