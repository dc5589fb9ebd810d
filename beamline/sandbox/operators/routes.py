"""HTTPRoutes and InferencePools: which Gateway takes them, and whether what they refer to exists."""

from collections.abc import Iterator, Mapping
from typing import Any

from beamline.sandbox.operators.conditions import Condition, written
from beamline.sandbox.operators.gateways import CONTROLLER, is_managed
from beamline.sandbox.operators.world import Manifest, World

__all__ = ["attached_routes", "pool_status", "route_status"]

_GATEWAYS = "gateway.networking.k8s.io"
_POOLS = "inference.networking.k8s.io"


def route_status(route: Manifest, world: World, now: str) -> dict[str, Any] | None:
    """Return the status of a route; None when no Gateway it names can be GKE's."""
    parents = []
    before = (route.get("status") or {}).get("parents") or []
    backend = _backend_problem(route, world)
    for ref in route["spec"].get("parentRefs") or []:
        if ref.get("kind", "Gateway") != "Gateway" or ref.get("group", _GATEWAYS) != _GATEWAYS:
            continue
        namespace = ref.get("namespace", route["metadata"]["namespace"])
        gateway = world.find("Gateway", namespace, ref["name"])
        if gateway is not None and not is_managed(gateway, world):
            continue
        reason, message = _attachment(route, ref, gateway, world, namespace)
        accepted = not reason
        reconciled = accepted and not backend
        outcome = "ReconciliationSucceeded" if reconciled else "ReconciliationFailed"
        conditions = [
            Condition("Accepted", status=accepted, reason=reason or "Accepted", message=message),
            Condition(
                "ResolvedRefs",
                status=not backend,
                reason=backend[0] if backend else "ResolvedRefs",
                message=backend[1] if backend else "",
            ),
            Condition("Reconciled", status=reconciled, reason=outcome),
        ]
        old: Mapping[str, Any] = next((entry for entry in before if entry["parentRef"] == dict(ref)), {})
        generation = int(route["metadata"].get("generation", 0))
        parents.append(
            {
                "parentRef": dict(ref),
                "controllerName": CONTROLLER,
                "conditions": written(conditions, old.get("conditions", []), generation, now),
            }
        )
    return {"parents": parents} if parents else None


def attached_routes(gateway: Manifest, world: World) -> dict[str, int]:
    """Return listener name to the number of routes it takes."""
    metadata = gateway["metadata"]
    counts = {listener["name"]: 0 for listener in gateway["spec"]["listeners"]}
    for route in world.of_kind("HTTPRoute"):
        for ref in route["spec"].get("parentRefs") or []:
            namespace = ref.get("namespace", route["metadata"]["namespace"])
            if (namespace, ref["name"]) != (metadata["namespace"], metadata["name"]):
                continue
            for listener in _listeners(gateway, ref):
                if _allows(listener, gateway, route, world):
                    counts[listener["name"]] += 1
    return counts


def pool_status(pool: Manifest, world: World, now: str) -> dict[str, Any] | None:
    """Return the status of an InferencePool: one entry for each Gateway whose routes send to it; None without any."""
    before = (pool.get("status") or {}).get("parents") or []
    problem = _picker_problem(pool, world)
    conditions = [
        Condition("Accepted", status=True, reason="Accepted"),
        Condition(
            "ResolvedRefs",
            status=not problem,
            reason="InvalidExtensionRef" if problem else "ResolvedRefs",
            message=problem,
        ),
    ]
    parents = []
    for namespace, name in _gateways_of(pool, world):
        ref = {"group": _GATEWAYS, "kind": "Gateway", "name": name, "namespace": namespace}
        old: Mapping[str, Any] = next((entry for entry in before if entry["parentRef"] == ref), {})
        generation = int(pool["metadata"].get("generation", 0))
        parents.append(
            {
                "parentRef": ref,
                "controllerName": CONTROLLER,
                "conditions": written(conditions, old.get("conditions", []), generation, now),
            }
        )
    return {"parents": parents} if parents or before else None


def _attachment(
    route: Manifest, ref: Mapping[str, Any], gateway: Manifest | None, world: World, namespace: str
) -> tuple[str, str]:
    """Return why the parent does not take the route, as reason and text; empty when it does."""
    if gateway is None:
        return "NoMatchingParent", f'Gateway "{namespace}/{ref["name"]}" was not found'
    listeners = list(_listeners(gateway, ref))
    if not listeners:
        return "NoMatchingParent", f'Gateway "{namespace}/{ref["name"]}" has no listener "{ref.get("sectionName")}"'
    allowing = [listener for listener in listeners if _allows(listener, gateway, route, world)]
    if not allowing:
        return (
            "NotAllowedByListeners",
            f'no listener of Gateway "{namespace}/{ref["name"]}" allows routes of the namespace',
        )
    hostnames = route["spec"].get("hostnames") or []
    if hostnames and not any(_hosts_meet(listener, hostnames) for listener in allowing):
        return "NoMatchingListenerHostname", "no hostname of the route is one of the listener's"
    return "", ""


def _listeners(gateway: Manifest, ref: Mapping[str, Any]) -> Iterator[Manifest]:
    for listener in gateway["spec"]["listeners"]:
        if (
            ref.get("sectionName", listener["name"]) == listener["name"]
            and ref.get("port", listener["port"]) == listener["port"]
        ):
            yield listener


def _allows(listener: Manifest, gateway: Manifest, route: Manifest, world: World) -> bool:
    allowed = listener.get("allowedRoutes") or {}
    kinds = allowed.get("kinds") or []
    if kinds and not any(entry["kind"] == "HTTPRoute" for entry in kinds):
        return False
    namespaces = allowed.get("namespaces") or {}
    home = route["metadata"]["namespace"]
    match namespaces.get("from", "Same"):
        case "All":
            return True
        case "Selector":
            found = world.find("Namespace", "", home) or {"metadata": {}}
            labels = found["metadata"].get("labels") or {}
            wanted = (namespaces.get("selector") or {}).get("matchLabels") or {}
            return all(labels.get(key) == value for key, value in wanted.items())
        case _:
            return bool(home == gateway["metadata"]["namespace"])


def _hosts_meet(listener: Manifest, hostnames: list[str]) -> bool:
    own = listener.get("hostname")
    if own is None:
        return True
    return any(
        own == host
        or (own.startswith("*.") and host.endswith(own[1:]))
        or (host.startswith("*.") and own.endswith(host[1:]))
        for host in hostnames
    )


def _backend_problem(route: Manifest, world: World) -> tuple[str, str] | None:
    home = route["metadata"]["namespace"]
    for rule in route["spec"].get("rules") or []:
        for ref in rule.get("backendRefs") or []:
            group, kind, namespace = ref.get("group", ""), ref.get("kind", "Service"), ref.get("namespace", home)
            if (group, kind) not in (("", "Service"), (_POOLS, "InferencePool")):
                return "InvalidKind", f'{kind} "{namespace}/{ref["name"]}" cannot be a backend'
            if namespace != home:
                return "RefNotPermitted", f'{kind} "{namespace}/{ref["name"]}" is in another namespace'
            found = world.find(kind, namespace, ref["name"])
            if found is None:
                return "BackendNotFound", f'{kind} "{namespace}/{ref["name"]}" was not found'
            if kind == "Service" and ref.get("port") not in _ports(found):
                return "BackendNotFound", f'Service "{namespace}/{ref["name"]}" has no port {ref.get("port")}'
    return None


def _picker_problem(pool: Manifest, world: World) -> str:
    ref = pool["spec"].get("endpointPickerRef")
    if ref is None:
        return "the pool has no endpointPickerRef, and GKE needs one"
    namespace = pool["metadata"]["namespace"]
    if ref.get("kind", "Service") != "Service":
        return f"an endpoint picker is a Service, not a {ref['kind']}"
    service = world.find("Service", namespace, ref["name"])
    if service is None:
        return f'Service "{namespace}/{ref["name"]}" was not found'
    port = (ref.get("port") or {}).get("number")
    return "" if port in _ports(service) else f'Service "{namespace}/{ref["name"]}" has no port {port}'


def _ports(service: Manifest) -> set[int]:
    return {entry["port"] for entry in service["spec"].get("ports") or []}


def _gateways_of(pool: Manifest, world: World) -> list[tuple[str, str]]:
    """Return the Gateways of GKE's classes whose routes send to the pool."""
    home, name = pool["metadata"]["namespace"], pool["metadata"]["name"]
    found = set()
    for route in world.of_kind("HTTPRoute"):
        if route["metadata"]["namespace"] != home:
            continue
        refs = [ref for rule in route["spec"].get("rules") or [] for ref in rule.get("backendRefs") or []]
        if not any((ref.get("kind"), ref["name"]) == ("InferencePool", name) for ref in refs):
            continue
        for parent in route["spec"].get("parentRefs") or []:
            namespace = parent.get("namespace", home)
            gateway = world.find("Gateway", namespace, parent["name"])
            if gateway is not None and is_managed(gateway, world):
                found.add((namespace, parent["name"]))
    return sorted(found)
