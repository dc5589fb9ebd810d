"""Who calls whom, on which ports, and why: the one table behind every NetworkPolicy of a stack.

A call is written once; it opens the caller's way out and the callee's way in. What is not here is denied, both ways,
for every pod of the kit and for every pod in a namespace of the stack's own.

Policies are about IP traffic of pods. They do not touch pods on the node's own network (the RDMA node agent), nor what
goes over NVLink or RDMA devices: memory of other nodes' GPUs is guarded by the ComputeDomain's channel and the claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from manifests.chosen import dynamo_release, llmd_release, publishes_events
from manifests.dynamo.names import FRONTEND, member_selector
from manifests.engine_pod import every_pod
from manifests.engine_roles import engine_port, ranks_name, role_selector, workload_name
from manifests.llmd.envoy import has_envoy
from manifests.local_ssd import is_raw_block
from manifests.namespaces import DRA_DRIVER, DYNAMO, LEADER_WORKER_SET, OwnNamespace, own_namespaces
from manifests.naming import ENGINE, LOCAL_SSD, ROUTER, WEIGHTS, engine_namespace, selector, weights_namespace
from manifests.parties import (
    COLLECTORS,
    CONTROL_PLANE,
    DNS,
    GOOGLE_APIS,
    HEALTH_CHECKERS,
    KUBERNETES_API,
    METADATA_SERVER,
    METADATA_SERVER_BEFORE,
    METRICS_AGENT,
    MODEL_HUB,
    Outside,
    Pods,
    proxies,
)
from manifests.tier_evictor import EVICTOR_PORT, needs_evictor
from manifests.weight_sets import is_seeded, weight_sets
from stacks.resolve import StackSpec
from stacks.roles import Role
from stacks.spec import Bucket, GcsFuse, ManagedPrometheus

__all__ = ["EVERY_PORT", "Call", "Port", "calls", "pods"]

Port = tuple[str, int]
"""Protocol and number."""
EVERY_PORT: tuple[Port, ...] = ()

_HTTPS: tuple[Port, ...] = (("TCP", 443),)
_DNS_PORTS: tuple[Port, ...] = (("UDP", 53), ("TCP", 53))
_DATAPLANE_V2 = "GKE docs, network policies; GKE docs, NodeLocal DNSCache with Dataplane V2"
_WORKLOAD_IDENTITY = "GKE docs, Workload Identity: network policies"
_LOAD_BALANCER = (
    "Cloud Load Balancing docs, firewall rules of Application Load Balancers; Service Extensions docs, callouts"
)


@dataclass(frozen=True)
class Call:
    """One party that opens connections to another. ``ports`` are the callee's; none: every port."""

    caller: Pods | Outside
    callee: Pods | Outside
    ports: tuple[Port, ...]
    why: str
    source: str


def calls(spec: StackSpec) -> tuple[Call, ...]:
    """Return everything that pods of the stack have to say to anyone, and anyone to them."""
    return (
        *_SERVING[spec.preset.serving.router.kind](spec),
        *_seeding(spec),
        *(call for operator in own_namespaces(spec) for call in _operator(spec, operator)),
    )


def pods(spec: StackSpec) -> tuple[Pods, ...]:
    """Return the kinds of pods in the table, each once, in the order of the table, and those that call nobody."""
    parties = [party for call in calls(spec) for party in (call.caller, call.callee)]
    kinds: list[Pods] = []
    for party in parties:
        if isinstance(party, Pods) and party not in kinds:
            kinds.append(party)
    return (*kinds, *_silent(spec))


def _silent(spec: StackSpec) -> Iterator[Pods]:
    """Pods that nobody calls and that call nobody: what makes the node's file system reads and writes disks only."""
    if is_raw_block(spec):
        yield Pods(LOCAL_SSD, weights_namespace(spec), {"matchLabels": selector(spec, LOCAL_SSD)}, "weights", LOCAL_SSD)


def _tcp(*numbers: int) -> tuple[Port, ...]:
    return tuple(("TCP", number) for number in numbers)


def _resolves(caller: Pods) -> Call:
    return Call(caller, DNS, _DNS_PORTS, "names; a resolver that gets no answer stalls for seconds", _DATAPLANE_V2)


def _from_load_balancer(spec: StackSpec, callee: Pods, port: int, health_port: int | None = None) -> Iterator[Call]:
    checked = _tcp(health_port or port)
    yield Call(proxies(spec), callee, _tcp(port), "clients' requests", _LOAD_BALANCER)
    yield Call(HEALTH_CHECKERS, callee, checked, "a backend without passed checks gets no requests", _LOAD_BALANCER)


def _scraped(spec: StackSpec, callee: Pods, port: int) -> Iterator[Call]:
    if isinstance(spec.preset.monitoring, ManagedPrometheus):
        source = "Managed Prometheus docs, managed collection: collectors in gmp-system"
        yield Call(COLLECTORS, callee, _tcp(port), "metrics", source)


def _read_by_autoscaling(spec: StackSpec, callee: Pods, port: int) -> Iterator[Call]:
    if spec.preset.serving.scaling:
        source = "GKE docs, expose custom metrics for autoscaling; that the agent reads them: public reports of 2026"
        yield Call(METRICS_AGENT, callee, _tcp(port), "gauges that replicas are scaled by", source)


def _llmd(spec: StackSpec) -> Iterator[Call]:
    ports, home = llmd_release(spec).ports, engine_namespace(spec)
    router = Pods(ROUTER, home, {"matchLabels": selector(spec, ROUTER)}, "serving", ROUTER)
    if has_envoy(spec):
        envoy = llmd_release(spec).proxy
        yield from _from_load_balancer(spec, router, envoy.port, envoy.health_port)
        yield from _scraped(spec, router, envoy.metrics_port)
    else:
        yield from _asks_picker(spec, router)
    yield from _scraped(spec, router, ports.metrics)
    yield Call(router, KUBERNETES_API, _HTTPS, "watches pods and pool", "llm-d-router v0.10.0, pkg/epp/server")
    yield _resolves(router)
    for role in spec.roles:
        yield from _llmd_engine(spec, role, router)
    if len(spec.roles) > 1:
        yield from _hands_over(*(_all_of(spec, role) for role in spec.roles))


def _asks_picker(spec: StackSpec, router: Pods) -> Iterator[Call]:
    ports = llmd_release(spec).ports
    yield Call(proxies(spec), router, _tcp(ports.ext_proc), "which engine shall serve a request", _LOAD_BALANCER)
    yield Call(
        HEALTH_CHECKERS, router, _tcp(ports.health), "a picker without passed checks is not asked", _LOAD_BALANCER
    )


def _llmd_engine(spec: StackSpec, role: Role, router: Pods) -> Iterator[Call]:
    port, labels = spec.derived.engine_port, {"matchLabels": role_selector(spec, role)}
    engine = Pods(workload_name(role), engine_namespace(spec), labels, "serving", ENGINE)
    yield Call(
        router, engine, _tcp(port),
        "load and cache of each engine, from its metrics; prompts to be tokenized; Envoy's requests",
        "llm-d-router v0.10.0, metrics data source: the pool's target port; token-producer",
    )  # fmt: skip
    if publishes_events(spec):
        yield Call(
            router, engine, _tcp(llmd_release(spec).kv_events.port), "what each engine stores and drops",
            "llm-d-router v0.10.0, precise-prefix-cache-producer: one subscriber a replica",
        )  # fmt: skip
    if not has_envoy(spec):
        yield from _from_load_balancer(spec, engine, port)
    yield from _scraped(spec, engine, engine_port(spec, role))
    yield from _read_by_autoscaling(spec, engine, engine_port(spec, role))
    if needs_evictor(spec, role):
        yield from _scraped(spec, engine, EVICTOR_PORT)
    every = _all_of(spec, role)
    if every != engine:
        yield Call(
            every, every, EVERY_PORT,
            "one replica over several nodes: rendezvous, NCCL and Gloo choose ports; Python objects, so nobody else",
            "vLLM 0.33.0, multi-node multiprocessing; NCCL docs, NCCL_SOCKET_IFNAME",
        )  # fmt: skip
    yield _resolves(every)
    yield from _mounting(spec, every)


def _all_of(spec: StackSpec, role: Role) -> Pods:
    """The pods of a role, those that only run ranks for others too."""
    spans = spec.derived.nodes_per_replica > 1
    name = ranks_name(role) if spans else workload_name(role)
    return Pods(name, engine_namespace(spec), every_pod(spec, role), "serving", ENGINE)


def _hands_over(prefill: Pods, decode: Pods) -> Iterator[Call]:
    """Nothing else may go out from decode pods: their proxy asks whatever address a request's header names."""
    why = "KV cache on ports that UCX chooses"
    source = "vLLM 0.33.0, NixlConnector; llm-d-router v0.10.0, pkg/sidecar/proxy"
    yield Call(decode, prefill, EVERY_PORT, f"prompts to be computed, where the blocks are, and {why}", source)
    yield Call(prefill, decode, EVERY_PORT, f"{why}: either side connects", source)


def _dynamo(spec: StackSpec) -> Iterator[Call]:
    ports, home = dynamo_release(spec).ports, engine_namespace(spec)
    graph = Pods("graph", home, {"matchLabels": member_selector(spec)}, "serving", ENGINE)
    frontend = Pods(FRONTEND, home, {"matchLabels": member_selector(spec, FRONTEND)}, "serving", FRONTEND)
    engine = Pods(ENGINE, home, {"matchLabels": member_selector(spec, ENGINE)}, "serving", ENGINE)
    yield Call(
        graph, graph, EVERY_PORT,
        "requests, cache events, KV cache and ranks travel on ports the system chooses; Python objects, so nobody else",
        "Dynamo 1.6.1, request plane tcp and event plane zmq; Mooncake and NIXL over TCP",
    )  # fmt: skip
    yield Call(
        graph, KUBERNETES_API, _HTTPS, "workers are found by way of the API", "Dynamo docs, Kubernetes discovery"
    )
    yield _resolves(graph)
    yield from _from_load_balancer(spec, frontend, ports.frontend)
    yield from _scraped(spec, frontend, ports.frontend)
    yield from _scraped(spec, engine, ports.system)
    if any(needs_evictor(spec, role) for role in spec.roles):
        yield from _scraped(spec, engine, EVICTOR_PORT)
    yield from _mounting(spec, engine)


_SERVING: dict[str, Callable[[StackSpec], Iterator[Call]]] = {"llm-d": _llmd, "dynamo": _dynamo}
"""By router stack."""


def _seeding(spec: StackSpec) -> Iterator[Call]:
    if not is_seeded(spec):
        return
    labels = {"matchLabels": selector(spec, WEIGHTS)}
    seeding = Pods("seeding", weights_namespace(spec), labels, "weights", WEIGHTS)
    kinds = {type(weights.source) for weights in weight_sets(spec)}
    yield _resolves(seeding)
    if Bucket in kinds:
        yield from _reads_bucket(seeding)
    if kinds - {Bucket}:
        yield Call(seeding, MODEL_HUB, _HTTPS, "weights from the hub", "huggingface_hub docs, downloads over HTTPS")


def _mounting(spec: StackSpec, engine: Pods) -> Iterator[Call]:
    """The container that mounts a bucket is in the engine's pod, and so in its network."""
    if isinstance(spec.preset.model.storage, GcsFuse):
        yield from _reads_bucket(engine)


def _reads_bucket(caller: Pods) -> Iterator[Call]:
    why = "its identity's token"
    yield Call(caller, METADATA_SERVER, _tcp(80, 8080), why, _WORKLOAD_IDENTITY)
    yield Call(caller, METADATA_SERVER_BEFORE, _tcp(987, 988), why, _WORKLOAD_IDENTITY)
    yield Call(caller, GOOGLE_APIS, _HTTPS, "weights from a bucket", "Cloud Storage docs, request endpoints")


_OPERATORS: dict[str, str] = {
    DRA_DRIVER: "kubernetes-sigs/dra-driver-nvidia-gpu: controller, kubelet plugins and domain daemons watch the API",
    LEADER_WORKER_SET: "kubernetes-sigs/lws: the manager watches the API",
    DYNAMO: "Dynamo platform chart: its operator and Grove's watch the API",
}
"""Component of an operator's namespace -> who says that it calls the API."""


def _operator(spec: StackSpec, home: OwnNamespace) -> Iterator[Call]:
    """Calls of what a chart installs; its labels are its own affair, so the policy is about the whole namespace."""
    if home.component not in _OPERATORS:
        return
    operator = Pods(home.component, home.name, {}, home.area, home.component)
    yield Call(operator, KUBERNETES_API, _HTTPS, "watches and writes its kinds", _OPERATORS[home.component])
    yield _resolves(operator)
    for chart in spec.charts.values():
        if chart.namespace == home.name and chart.webhook_port is not None:
            why, source = "admission of what it looks after", f"{chart.name} {chart.version}, its webhooks' port"
            yield Call(CONTROL_PLANE, operator, _tcp(chart.webhook_port), why, source)
    if home.component == DRA_DRIVER:
        yield Call(
            operator, operator, EVERY_PORT, "the IMEX daemons of one domain find each other by pod address",
            "NVIDIA IMEX guide, SERVER_PORT and IMEX_CMD_PORT; the driver writes both",
        )  # fmt: skip
