"""What rendered policies let through, and what a stack's parts have to say to each other by their own arguments.

Both are read from the rendered objects alone, not from the table that the policies come from. Policies are judged as
Dataplane V2 judges them: an ``ipBlock`` never takes a pod, however large it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Any

import yaml

from .cluster_objects import Body, Objects, flag
from .dynamo.graphs import components, container, environment
from .mounted import bucket_readers

__all__ = ["ANY_PORT", "Address", "Flow", "Pod", "allowed", "dynamo_flows", "llmd_flows", "pods", "shared_flows"]

ANY_PORT = 40_123
"""Stands for every port: one that nobody would name."""

_KUBE_DNS = {"k8s-app": "kube-dns"}


@dataclass(frozen=True)
class Pod:
    """A pod: where it is, how it is labelled, and for reading, what it is."""

    name: str
    namespace: str
    labels: frozenset[tuple[str, str]]

    def matches(self, selector: Body) -> bool:
        labels = dict(self.labels)
        expressions = selector.get("matchExpressions", [])
        assert all(e["operator"] == "In" for e in expressions)
        return selector.get("matchLabels", {}).items() <= labels.items() and all(
            labels.get(e["key"]) in e["values"] for e in expressions
        )


@dataclass(frozen=True)
class Address:
    """Something that is no pod of this cluster: the control plane, Google, the internet, the node's own addresses."""

    name: str
    ip: str


Party = Pod | Address
Flow = tuple[Party, Party, str, int]
"""Who opens a connection, to whom, by which protocol, on which port."""

COLLECTOR = Pod("collector", "gmp-system", frozenset())
DNS = (
    Pod("kube-dns", "kube-system", frozenset(_KUBE_DNS.items())),
    Pod("node-local-dns", "kube-system", frozenset({("k8s-app", "node-local-dns")})),
    Address("DNS cache of the node", "169.254.20.10"),
    Address("Cloud DNS", "169.254.169.254"),
)
METADATA = ((Address("Cloud DNS", "169.254.169.254"), 80), (Address("metadata server", "169.254.169.252"), 988))
API = Address("Kubernetes API", "172.16.0.2")
INTERNET = Address("internet", "18.164.174.23")
HEALTH_CHECKERS = (Address("prober", "35.191.10.1"), Address("old prober", "130.211.1.7"))
STRANGER = Pod("stranger", "default", frozenset({("app.kubernetes.io/component", "router")}))
VM = Address("machine of the VPC", "10.0.200.9")


def pods(objects: Objects) -> dict[str, Pod]:
    """One pod of each kind that is subject to policies, and one of each operator, by what it is called here."""
    found = [
        Pod(w["metadata"]["name"], w["metadata"]["namespace"], _labels(w["spec"]["template"]))
        for w in objects.workloads()
        if not w["spec"]["template"]["spec"].get("hostNetwork")
    ]
    for graph in objects.kind("DynamoGraphDeployment"):
        home = graph["metadata"]["namespace"]
        found += [Pod(c["name"], home, _labels(c["podTemplate"])) for c in components(objects)]
    taken = {pod.namespace for pod in found}
    operators = [n["metadata"]["name"] for n in objects.kind("Namespace") if n["metadata"]["name"] not in taken]
    found += [Pod(f"operator of {home}", home, frozenset({("app", "operator")})) for home in operators]
    return {pod.name: pod for pod in found}


def _templates(objects: Objects) -> dict[str, Body]:
    """Pod templates by what their pods are called here."""
    found = {w["metadata"]["name"]: w["spec"]["template"] for w in objects.workloads()}
    if objects.kind("DynamoGraphDeployment"):
        found |= {c["name"]: c["podTemplate"] for c in components(objects)}
    return found


def _labels(template: Body) -> frozenset[tuple[str, str]]:
    return frozenset(template["metadata"]["labels"].items())


def allowed(objects: Objects, flow: Flow) -> bool:
    """Tell whether the caller may leave and the callee let it in."""
    caller, callee, protocol, port = flow
    out = _direction(objects, caller, callee, protocol, port, "Egress", "egress", "to")
    return out and _direction(objects, callee, caller, protocol, port, "Ingress", "ingress", "from")


def _direction(
    objects: Objects, own: Party, other: Party, protocol: str, port: int, kind: str, rules: str, side: str
) -> bool:
    if not isinstance(own, Pod):
        return True
    policies = [
        p["spec"]
        for p in objects.kind("NetworkPolicy")
        if p["metadata"]["namespace"] == own.namespace
        and kind in p["spec"]["policyTypes"]
        and own.matches(p["spec"]["podSelector"])
    ]
    if not policies:
        return True
    return any(
        _peer_matches(rule, side, other, own.namespace) and _port_matches(rule, protocol, port)
        for policy in policies
        for rule in policy.get(rules, [])
    )


def _port_matches(rule: Body, protocol: str, port: int) -> bool:
    return not rule.get("ports") or {"protocol": protocol, "port": port} in rule["ports"]


def _peer_matches(rule: Body, side: str, other: Party, home: str) -> bool:
    return not rule.get(side) or any(_is_peer(peer, other, home) for peer in rule[side])


def _is_peer(peer: Body, other: Party, home: str) -> bool:
    if "ipBlock" in peer:
        block = peer["ipBlock"]
        if isinstance(other, Pod):
            return False
        address = ip_address(other.ip)
        inside = address in ip_network(block["cidr"])
        return inside and not any(address in ip_network(part) for part in block.get("except", []))
    if not isinstance(other, Pod):
        return False
    namespace = Pod("", "", frozenset({("kubernetes.io/metadata.name", other.namespace)}))
    there = namespace.matches(peer["namespaceSelector"]) if "namespaceSelector" in peer else other.namespace == home
    return there and other.matches(peer.get("podSelector", {}))


def shared_flows(objects: Objects, proxy: Address) -> Iterator[Flow]:
    """Of either router stack: names, tokens, weights, scraping, the load balancer's way in, operators."""
    by_name = pods(objects)
    for pod in by_name.values():
        if pod.name != "local-ssd":  # it runs the node's own tools and calls nobody
            yield from _to_dns(pod)
    yield from _to_weights(objects, by_name)
    for monitoring in objects.kind("PodMonitoring"):
        for pod in by_name.values():
            if pod.namespace == monitoring["metadata"]["namespace"] and pod.matches(monitoring["spec"]["selector"]):
                (endpoint,) = monitoring["spec"]["endpoints"]
                yield COLLECTOR, pod, "TCP", _port(objects, pod, endpoint["port"])
    (health,) = (h["spec"]["default"]["config"]["httpHealthCheck"]["port"] for h in objects.kind("HealthCheckPolicy"))
    for pod, port in _backends(objects, by_name):
        yield proxy, pod, "TCP", port
        for prober in HEALTH_CHECKERS:
            yield prober, pod, "TCP", health
    for pod in by_name.values():
        if pod.name.startswith("operator of "):
            yield pod, API, "TCP", 443


def _to_dns(pod: Pod) -> Iterator[Flow]:
    for server in DNS:
        yield pod, server, "UDP", 53
        yield pod, server, "TCP", 53


def _to_weights(objects: Objects, by_name: dict[str, Pod]) -> Iterator[Flow]:
    if "seeding" in by_name:
        yield from _of_seeding(objects, by_name["seeding"])
    for name in bucket_readers(_templates(objects)):
        yield from _to_bucket(by_name[name])


def _of_seeding(objects: Objects, pod: Pod) -> Iterator[Flow]:
    for seeder in objects.pod("seeding")["containers"]:
        source = seeder["command"][2]
        yield pod, INTERNET, "TCP", 443
        if source == "bucket":
            yield from _to_bucket(pod)
        else:
            assert source == "huggingface"


def _to_bucket(pod: Pod) -> Iterator[Flow]:
    yield pod, INTERNET, "TCP", 443
    yield from ((pod, server, "TCP", port) for server, port in METADATA)
    yield pod, API, "TCP", 443  # a private address: Google's APIs can have one in a VPC


def _backends(objects: Objects, by_name: dict[str, Pod]) -> Iterator[tuple[Pod, int]]:
    """Pods and port behind the route: those of its pool, or of its Service."""
    (reference,) = objects.kind("HTTPRoute")[0]["spec"]["rules"][0]["backendRefs"]
    found = objects.one(reference["kind"], reference["name"])
    if reference["kind"] == "InferencePool":
        selector, ports = found["spec"]["selector"], [t["number"] for t in found["spec"]["targetPorts"]]
    else:
        selector, ports = {"matchLabels": found["spec"]["selector"]}, [reference["port"]]
    for pod in by_name.values():
        if pod.namespace == found["metadata"]["namespace"] and pod.matches(selector):
            yield from ((pod, port) for port in ports)


def _port(objects: Objects, pod: Pod, name: str) -> int:
    templates = [w["spec"]["template"]["spec"] for w in objects.workloads() if w["metadata"]["name"] == pod.name]
    if objects.kind("DynamoGraphDeployment"):
        templates += [c["podTemplate"]["spec"] for c in components(objects) if c["name"] == pod.name]
    (number,) = (
        p["containerPort"]
        for t in templates
        for c in (*t.get("initContainers", []), *t["containers"])
        for p in c.get("ports", [])
        if p["name"] == name
    )
    return int(number)


def llmd_flows(objects: Objects, proxy: Address) -> Iterator[Flow]:
    """What the router's and the engines' arguments make them say."""
    by_name = pods(objects)
    router, arguments = by_name["router"], objects.container("router")
    if not any(container["name"] == "envoy" for container in objects.pod("router").get("initContainers", [])):
        yield proxy, router, "TCP", int(flag(arguments, "grpc-port"))
        for prober in HEALTH_CHECKERS:
            yield prober, router, "TCP", int(flag(arguments, "grpc-health-port"))
    assert yaml.safe_load(objects.one("ConfigMap", "router-config")["data"]["config.yaml"])["schedulingProfiles"]
    for body in objects.kind("RoleBinding"):
        assert body["subjects"][0]["name"] == objects.pod("router")["serviceAccountName"]
        yield router, API, "TCP", 443
    (pool,) = objects.kind("InferencePool")
    for pod in by_name.values():
        if pod.matches(pool["spec"]["selector"]) and pod.namespace == pool["metadata"]["namespace"]:
            yield from ((router, pod, "TCP", target["number"]) for target in pool["spec"]["targetPorts"])
            if events := flag(objects.container(pod.name), "kv-events-config"):
                yield router, pod, "TCP", int(events["endpoint"].rpartition(":")[2])
    yield from _between_engines(objects, by_name)
    if objects.kind("LeaderWorkerSet"):
        yield API, by_name["operator of lws-system"], "TCP", 9443


def _between_engines(objects: Objects, by_name: dict[str, Pod]) -> Iterator[Flow]:
    """Ranks of one replica with each other, and prefill with decode."""
    for one in objects.engine_names():
        for other in objects.engine_names():
            first, second = (dict(by_name[name].labels).get("llm-d.ai/role") for name in (one, other))
            spans = flag(objects.container(one), "nnodes") is not None
            if first != second or spans:
                yield by_name[one], by_name[other], "TCP", ANY_PORT


def dynamo_flows(objects: Objects) -> Iterator[Flow]:
    """What the components' variables and arguments make them say."""
    by_name = pods(objects)
    (graph,) = objects.kind("DynamoGraphDeployment")
    planes: dict[str, Any] = {e["name"]: e["value"] for e in graph["spec"]["env"]}
    assert {name: planes[name] for name in planes if name.endswith("_PLANE")} == {
        "DYN_REQUEST_PLANE": "tcp",
        "DYN_EVENT_PLANE": "zmq",
    }, "ports that the system chooses"
    members = [by_name[c["name"]] for c in components(objects)]
    yield from ((one, other, "TCP", ANY_PORT) for one in members for other in members)
    for found in components(objects):
        pod = by_name[found["name"]]
        yield pod, API, "TCP", 443  # discovery is the operator's default, the Kubernetes API
        if found["type"] != "frontend":
            system = int(environment(found)["DYN_SYSTEM_PORT"])
            yield by_name["frontend"], pod, "TCP", system  # tokenizer and configuration
        bootstrap = flag(container(found), "disaggregation-bootstrap-port")
        if bootstrap:
            yield from ((other, pod, "TCP", int(bootstrap)) for other in members)
    yield API, by_name["operator of dynamo-system"], "TCP", 9443
