"""What must hold between objects, whatever the stack: each check returns complaints, none when all is well.

Schemas judge one object at a time. These are about two or more of them agreeing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .cluster_objects import Body, Objects, flag
from .mounted import mounted_agree

__all__ = [
    "claims_agree",
    "engine_ports_agree",
    "gpus_are_ranks",
    "groups_are_one_replica",
    "mounts_and_volumes_match",
    "names_are_known",
    "namespaces_are_as_strict_as_can_be",
    "no_shell_syntax_without_shell",
    "pods_are_restricted",
    "revisions_are_placed_apart",
    "router_ports_agree",
    "selectors_find_pods",
    "service_links_are_off",
    "tiers_fit",
    "timeouts_are_ordered",
    "weights_agree",
]


def _agree(what: str, **values: Any) -> Iterator[str]:
    if len({str(v) for v in values.values()}) > 1:
        yield f"{what}: " + ", ".join(f"{name} {value}" for name, value in values.items())


def engine_ports_agree(objects: Objects) -> Iterator[str]:
    """One number for what is reached, the pool and the health check, one for vLLM; one name for probes and scraping."""
    checks = [h["spec"]["default"]["config"]["httpHealthCheck"] for h in _about(objects, "HealthCheckPolicy", "engine")]
    (target,) = objects.one("InferencePool", "engine")["spec"]["targetPorts"]
    for name in objects.engine_names(that_serve=True):
        engine, proxy = objects.container(name), objects.proxy(name)
        for container in filter(None, (engine, proxy)):
            (port,) = container["ports"]
            yield from _agree(f"{name} port", argument=flag(container, "port"), container=port["containerPort"])
        if proxy:
            yield from _agree(f"{name} proxy", asks=flag(proxy, "model-server-port"), listens=flag(engine, "port"))
            if any(health["requestPath"] == "/health" for health in checks):
                yield "the proxy is asked whether the engine is well"
        reached = flag(proxy or engine, "port")
        asked = {f"health check {number}": health["port"] for number, health in enumerate(checks)}
        yield from _agree(f"{name} reached", there=reached, pool=target["number"], **asked)
        scraped = _scraped(objects, "engine")
        probes = {p: engine[p]["httpGet"]["port"] for p in ("startupProbe", "readinessProbe", "livenessProbe")}
        yield from _agree("engine port name", container=engine["ports"][0]["name"], **scraped, **probes)


def _about(objects: Objects, kind: str, name: str) -> list[Body]:
    """The policy on what is called so, if that is what the load balancer sends to."""
    return [body for body in objects.kind(kind) if body["metadata"]["name"] == name]


def _scraped(objects: Objects, name: str) -> dict[str, str]:
    """Name of the port that a component's PodMonitoring reads, if there is one."""
    for body in objects.kind("PodMonitoring"):
        if body["metadata"]["name"] == name:
            (endpoint,) = body["spec"]["endpoints"]
            return {"scraped": endpoint["port"]}
    return {}


def router_ports_agree(objects: Objects) -> Iterator[str]:
    """What the pool asks is what the Service offers and the picker listens on."""
    router = objects.container("router")
    ports = {p["name"]: p["containerPort"] for p in router["ports"]}
    (service,) = (p for p in objects.one("Service", "router")["spec"]["ports"] if p["name"] == "ext-proc")
    asked = objects.one("InferencePool", "engine")["spec"]["endpointPickerRef"]["port"]["number"]
    yield from _agree(
        "picker port",
        argument=flag(router, "grpc-port"),
        container=ports.get(service["targetPort"]),
        service=service["port"],
        pool=asked,
    )
    yield from _agree(
        "picker health port",
        argument=flag(router, "grpc-health-port"),
        container=ports["health"],
        readiness=router["readinessProbe"]["grpc"]["port"],
        liveness=router["livenessProbe"]["grpc"]["port"],
    )
    scraped = {who: ports.get(name) for who, name in _scraped(objects, "router").items()}
    yield from _agree("picker metrics port", argument=flag(router, "metrics-port"), **scraped)


def _selectors(objects: Objects) -> Iterator[tuple[str, str, Body]]:
    for body in objects:
        spec, kind, name = body.get("spec", {}), body["kind"], body["metadata"]["name"]
        if kind in ("Deployment", "DaemonSet", "PodDisruptionBudget", "InferencePool", "PodMonitoring"):
            yield kind, name, spec["selector"]
        elif kind == "Service":
            yield kind, name, {"matchLabels": spec["selector"]}
        elif kind == "NetworkPolicy" and spec["podSelector"]:
            yield kind, name, spec["podSelector"]
    for workload in objects.workloads():
        terms = workload["spec"]["template"]["spec"].get("affinity", {}).get("podAffinity", {})
        for term in terms.get("requiredDuringSchedulingIgnoredDuringExecution", []):
            yield "affinity", workload["metadata"]["name"], term["labelSelector"]


def _takes(selector: Body, labels: dict[str, str]) -> bool:
    values = [labels.get(e["key"]) in e["values"] for e in selector.get("matchExpressions", [])]
    return selector.get("matchLabels", {}).items() <= labels.items() and all(values)


def selectors_find_pods(objects: Objects) -> Iterator[str]:
    """Every selector finds the pods of exactly one workload; without a group's workers, but for what is about both."""
    pods = {w["metadata"]["name"]: w["spec"]["template"]["metadata"]["labels"] for w in objects.workloads()}
    for kind, name, selector in _selectors(objects):
        found = [pod for pod, labels in pods.items() if _takes(selector, labels)]
        if found != _meant(objects, kind, name, list(pods), found):
            yield f"{kind}/{name} selects the pods of {found or 'no workload'}"


def _meant(objects: Objects, kind: str, name: str, pods: list[str], found: list[str]) -> list[str]:
    """Workloads that a selector is about. Pool, scraping and nearness are about engines of all roles."""
    if kind == "NetworkPolicy" and name.startswith("ranks"):
        role = name.removeprefix("ranks")
        return [pod for pod in objects.engine_names() if pod.startswith(f"engine{role}")]
    if kind == "PodDisruptionBudget":
        return [pod for pod in pods if pod in (name, f"{name}-worker")]
    if name in ("engine", *objects.engine_names()) and kind in ("InferencePool", "PodMonitoring", "affinity"):
        return objects.engine_names(that_serve=True)
    return found if len(found) == 1 else ["exactly one"]


_REVISION_LABELS = {
    "Deployment": ["pod-template-hash"],
    "LeaderWorkerSet": ["leaderworkerset.sigs.k8s.io/template-revision-hash"],
}


def revisions_are_placed_apart(objects: Objects) -> Iterator[str]:
    """Pods that are kept near each other are of one revision: a drain moves the next one to other nodes."""
    for workload in objects.workloads():
        terms = workload["spec"]["template"]["spec"].get("affinity", {}).get("podAffinity", {})
        for term in terms.get("requiredDuringSchedulingIgnoredDuringExecution", []):
            several = len(objects.engine_names(that_serve=True)) > 1
            if term.get("matchLabelKeys") != (["beamline/pools"] if several else _REVISION_LABELS[workload["kind"]]):
                yield f"{workload['metadata']['name']}: a {workload['kind']} marks no revision by {term}"


Reference = tuple[str, str | None, str]
"""Kind, namespace (None: of the cluster) and name of what something refers to."""


def _volume_references(volume: Body, namespace: str) -> Iterator[Reference]:
    if "configMap" in volume:
        yield "ConfigMap", namespace, volume["configMap"]["name"]
    if "persistentVolumeClaim" in volume:
        yield "PersistentVolumeClaim", namespace, volume["persistentVolumeClaim"]["claimName"]
    if "secretProviderClass" in volume.get("csi", {}).get("volumeAttributes", {}):
        yield "SecretProviderClass", namespace, volume["csi"]["volumeAttributes"]["secretProviderClass"]


def _pod_references(pod: Body, namespace: str) -> Iterator[Reference]:
    if "serviceAccountName" in pod:
        yield "ServiceAccount", namespace, pod["serviceAccountName"]
    for volume in pod.get("volumes", []):
        yield from _volume_references(volume, namespace)


def _spec_references(kind: str, spec: Body, namespace: str | None) -> Iterator[Reference]:
    match kind:
        case "PersistentVolumeClaim":
            yield "PersistentVolume", None, spec["volumeName"]
        case "PersistentVolume":
            yield "PersistentVolumeClaim", spec["claimRef"]["namespace"], spec["claimRef"]["name"]
        case "InferencePool":
            yield "Service", namespace, spec["endpointPickerRef"]["name"]
        case "HealthCheckPolicy" | "GCPBackendPolicy":
            yield spec["targetRef"]["kind"], namespace, spec["targetRef"]["name"]
        case "HTTPRoute":
            yield "Gateway", namespace, spec["parentRefs"][0]["name"]
            (backend,) = spec["rules"][0]["backendRefs"]
            yield backend["kind"], namespace, backend["name"]


def _references(objects: Objects) -> Iterator[tuple[str, Reference]]:
    for body in objects:
        kind, namespace = body["kind"], body["metadata"].get("namespace")
        if namespace and namespace not in objects.there_before:
            yield kind, ("Namespace", None, namespace)
        if kind == "RoleBinding":
            yield kind, ("Role", namespace, body["roleRef"]["name"])
            yield kind, ("ServiceAccount", body["subjects"][0]["namespace"], body["subjects"][0]["name"])
        for reference in _spec_references(kind, body.get("spec", {}), namespace):
            yield kind, reference
    for workload in objects.workloads():
        metadata = workload["metadata"]
        for reference in _pod_references(workload["spec"]["template"]["spec"], metadata["namespace"]):
            yield metadata["name"], reference
    router = objects.container("router")
    yield "router", ("InferencePool", flag(router, "pool-namespace"), flag(router, "pool-name"))


def names_are_known(objects: Objects) -> Iterator[str]:
    """Whatever an object names is there."""
    for who, (kind, namespace, name) in _references(objects):
        if name not in objects.names(kind, namespace):
            yield f"{who} names {kind} {name}, which is not in {namespace or 'the cluster'}"


def timeouts_are_ordered(objects: Objects) -> Iterator[str]:
    """The innermost deadline fires first, and pods get the time they were promised."""
    for name in objects.engine_names(that_serve=True):
        yield from _timeouts(objects, name)


def _timeouts(objects: Objects, name: str) -> Iterator[str]:
    engine, pod = objects.container(name), objects.pod(name)
    drain, pause = int(flag(engine, "shutdown-timeout")), engine["lifecycle"]["preStop"]["sleep"]["seconds"]
    grace = pod["terminationGracePeriodSeconds"]
    for body in _about(objects, "GCPBackendPolicy", "engine"):
        policy = body["spec"]["default"]
        if not drain < policy["timeoutSec"]:
            yield f"the gateway gives up after {policy['timeoutSec']} s, the engine works for {drain} s"
        if policy["connectionDraining"]["drainingTimeoutSec"] < min(3600, pause + drain):
            yield "the load balancer drops connections of an engine that still drains"
    if grace < pause + drain:
        yield f"grace period {grace} s, but pause and drain take {pause + drain} s"
    environment = {e["name"]: e.get("value") for e in engine["env"]}
    if int(environment["VLLM_HTTP_TIMEOUT_KEEP_ALIVE"]) <= 600:
        yield "the engine closes idle connections before Google's proxies do"
    probe = engine["startupProbe"]
    budget = probe["periodSeconds"] * probe["failureThreshold"]
    for deployment in (d for d in objects.kind("Deployment") if d["metadata"]["name"] == name):
        deadline = deployment["spec"]["progressDeadlineSeconds"]
        if deadline < budget + grace:
            yield f"progress deadline {deadline} s, but the old pod may take {grace} s and the new one {budget} s"
    if int(environment["VLLM_ENGINE_READY_TIMEOUT_S"]) > budget:
        yield "the engine waits for itself longer than the startup probe does"


def gpus_are_ranks(objects: Objects) -> Iterator[str]:
    """As many GPUs as vLLM starts ranks, over all pods of a replica."""
    for engine in objects.engines():
        pods = int(flag(engine, "nnodes") or 1)
        yield from _agree(
            "GPUs",
            limit=pods * int(engine["resources"]["limits"]["nvidia.com/gpu"]),
            request=pods * int(engine["resources"]["requests"]["nvidia.com/gpu"]),
            tensor_parallel=flag(engine, "tensor-parallel-size"),
        )


_OF_API = ("ports", "startupProbe", "readinessProbe", "livenessProbe", "lifecycle")


def groups_are_one_replica(objects: Objects) -> Iterator[str]:
    """A group has as many pods as vLLM expects, which start alike, meet at the leader, and serve at one place."""
    for body in objects.kind("LeaderWorkerSet"):
        group, name = body["spec"]["leaderWorkerTemplate"], body["metadata"]["name"].partition("-nodes")[0]
        leader, worker = objects.container(name), objects.container(f"{name}-worker")
        yield from _agree("pods of a replica", group=group["size"], nnodes=flag(leader, "nnodes"))
        if [*leader["args"], "--headless"] != worker["args"]:
            yield "leader and worker differ in more than --headless"
        ours = {"node-rank": "$(LWS_WORKER_INDEX)", "master-addr": "$(LWS_LEADER_ADDRESS)"}
        for name, variable in ours.items():
            if flag(leader, name) != variable:
                yield f"--{name} is {flag(leader, name)}, LeaderWorkerSet says it in {variable}"
        yield from (f"a worker has {key}, and no API" for key in _OF_API if key in worker)
        if {k: v for k, v in leader.items() if k not in ("args", *_OF_API)} != {
            k: v for k, v in worker.items() if k != "args"
        }:
            yield "leader and worker are not the same container"
        if group["restartPolicy"] != "RecreateGroupOnPodRestart":
            yield "a rank that restarts alone cannot join its group"


def _claim_templates(objects: Objects) -> set[str]:
    made = {d["spec"]["channel"]["resourceClaimTemplate"]["name"] for d in objects.kind("ComputeDomain")}
    return made | {t["metadata"]["name"] for t in objects.kind("ResourceClaimTemplate")}


def claims_agree(objects: Objects) -> Iterator[str]:
    """Every engine pod claims all there is to claim, and its container uses what its pod claims."""
    templates = _claim_templates(objects)
    for name in objects.engine_names():
        pod = objects.pod(name)
        claimed = {c["name"]: c["resourceClaimTemplateName"] for c in pod.get("resourceClaims", [])}
        used = {c["name"] for c in pod["containers"][0]["resources"].get("claims", [])}
        if set(claimed.values()) != templates:
            yield f"{name} claims {sorted(claimed.values())}, there are {sorted(templates)}"
        if used != set(claimed):
            yield f"{name}: its pod claims {sorted(claimed)}, its container uses {sorted(used)}"


def weights_agree(objects: Objects) -> Iterator[str]:
    """Seeder and engine mean the same folder and the same marker, and the engine loads what was seeded, or mounted."""
    for name in objects.engine_names(that_serve=True):
        yield from _weights(objects, objects.pod(name))


def _weights(objects: Objects, engine: Body) -> Iterator[str]:
    arguments = engine["containers"][0]
    loaded = {arguments["args"][0], *filter(None, [(flag(arguments, "speculative-config") or {}).get("model")])}
    if not any(w["metadata"]["name"] == "seeding" for w in objects.workloads()):
        for workload in (w for w in objects.workloads() if w["metadata"]["name"] in objects.engine_names()):
            yield from mounted_agree(objects, workload["metadata"]["name"], workload["spec"]["template"], loaded)
        return
    seeding = objects.pod("seeding")
    (volume,) = (v for v in objects.kind("PersistentVolume") if "-weights-" in v["metadata"]["name"])
    (host,) = (v["hostPath"]["path"] for v in seeding["volumes"] if "hostPath" in v)
    yield from _agree("weights folder", seeding=host, volume=volume["spec"]["local"]["path"])
    seeded: dict[str, str] = {}
    for container in seeding["containers"]:
        values = {e["name"]: e["value"] for e in container["env"]}
        seeded[f"{values['ROOT']}/{values['KEY']}"] = values["MARKER"]
        if values["KEY"] not in values["KEEP"].split():
            yield f"the {container['name']} seeder would remove its own folder"
    awaited = engine["initContainers"][0]["command"][4:]
    if dict(zip(awaited[::2], awaited[1::2], strict=True)) != seeded:
        yield f"the engine waits for {awaited}, seeded is {seeded}"
    if loaded != set(seeded):
        yield f"the engine loads {sorted(loaded)}, seeded is {sorted(seeded)}"


def tiers_fit(objects: Objects) -> Iterator[str]:
    """The KV tier fits the volume it lives in, and the volume fits the pod's limits."""
    for name in objects.engine_names(that_serve=True):
        yield from _tier_fits(objects.pod(name))


def _connectors(engine: Body) -> dict[str, Any]:
    """What all connectors of an engine are told, those in a set too."""
    extra: dict[str, Any] = (flag(engine, "kv-transfer-config") or {}).get("kv_connector_extra_config", {})
    parts = [part["kv_connector_extra_config"] for part in extra.get("connectors", [])]
    return {key: value for part in (extra, *parts) for key, value in part.items()}


def _tier_fits(pod: Body) -> Iterator[str]:
    engine = pod["containers"][0]
    limits = {k: int(v.removesuffix("Gi")) * 2**30 for k, v in engine["resources"]["limits"].items() if "Gi" in v}
    (shm,) = (v["emptyDir"]["sizeLimit"] for v in pod["volumes"] if v["name"] == "shm")
    shm_bytes = int(shm.removesuffix("Gi")) * 2**30
    extra = _connectors(engine)
    if extra.get("cpu_bytes_to_use", 0) > 0.9 * shm_bytes:
        yield "the host tier does not fit /dev/shm"
    if shm_bytes > limits["memory"]:
        yield "/dev/shm is larger than the pod's memory"
    ranks = int(flag(engine, "tensor-parallel-size"))
    on_ephemeral = any(v["name"] == "kv-tier" and "emptyDir" in v for v in pod["volumes"])
    if on_ephemeral and extra.get("disk_capacity_bytes", 0) * ranks > limits["ephemeral-storage"]:
        yield "the disk tier of all ranks does not fit the pod's ephemeral storage"
    path = str(extra.get("disk_path", "/cache/")).rpartition("/")[0]
    if path not in {m["mountPath"] for m in engine["volumeMounts"]}:
        yield f"the disk tier's folder {path} is on no volume"


def mounts_and_volumes_match(objects: Objects) -> Iterator[str]:
    """No mount without volume, no volume without mount, no cache on the container's own layer."""
    for workload in objects.workloads():
        pod = workload["spec"]["template"]["spec"]
        volumes = {v["name"] for v in pod.get("volumes", [])}
        containers = [*pod.get("initContainers", []), *pod["containers"]]
        mounted = {m["name"] for c in containers for m in c.get("volumeMounts", [])}
        if mounted != volumes:
            yield f"{workload['metadata']['name']}: volumes {sorted(volumes)}, mounted {sorted(mounted)}"
    for who, _, container in objects.containers():
        writable = [m["mountPath"] for m in container.get("volumeMounts", []) if not m.get("readOnly")]
        for entry in container.get("env", []):
            name, value = entry["name"], entry.get("value", "")
            if name.startswith("UCX_"):  # UCX_MEMTYPE_CACHE is a switch
                continue
            if re.search(r"(HOME|_CACHE|CACHE_|_ROOT|_BASE)", name) and not value.startswith(tuple(writable)):
                yield f"{who}: {name}={value} is on no writable volume"


def _level_needed(objects: Objects, workload: Body) -> str:
    pod = workload["spec"]["template"]["spec"]
    added = {c for _, _, container in objects.containers(workload) for c in _added(container)}
    of_the_node = pod.get("hostPID", False) or any("hostPath" in v for v in pod.get("volumes", []))
    return "privileged" if added or of_the_node else "restricted"


def _added(container: Body) -> list[str]:
    found: list[str] = container["securityContext"].get("capabilities", {}).get("add", [])
    return found


def namespaces_are_as_strict_as_can_be(objects: Objects) -> Iterator[str]:
    """Privileged is for pods with a hostPath, a capability or the node's processes; only their namespace has it."""
    key = "pod-security.kubernetes.io/enforce"
    levels = {n["metadata"]["name"]: n["metadata"]["labels"][key] for n in objects.kind("Namespace")}
    needed: dict[str, set[str]] = {}
    for workload in objects.workloads():
        needed.setdefault(workload["metadata"]["namespace"], set()).add(_level_needed(objects, workload))
    for namespace in needed.keys() - objects.there_before:
        wanted = "privileged" if "privileged" in needed[namespace] else "restricted"
        if levels[namespace] != wanted:
            yield f"{namespace} has level {levels[namespace]} where its pods need {wanted}"


_NODE_AGENTS = ("asapd-lite", "local-ssd")
"""Workloads that configure the node itself, in the namespace for such."""


def pods_are_restricted(objects: Objects) -> Iterator[str]:
    """No escalation, no writable root, no capability the transport does not ask for; a token only for API calls."""
    for who, pod, container in objects.containers():
        if pod["automountServiceAccountToken"] != (who == "router"):
            yield f"{who}: token mounted is {pod['automountServiceAccountToken']}"
        if who in _NODE_AGENTS:
            continue
        added = sorted(objects.capabilities) if container["name"] == "engine" else []
        own = {"runAsNonRoot": True, "runAsUser": 65532, "runAsGroup": 65532}
        if container["securityContext"] != {
            **(own if container["name"] == "routing-proxy" else {}),
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"], **({"add": added} if added else {})},
            "readOnlyRootFilesystem": True,
        }:
            yield f"{who}/{container['name']} is not confined: {container['securityContext']}"
        root = who == "seeding" or (objects.capabilities and who in objects.engine_names())
        if not root and not pod["securityContext"].get("runAsNonRoot"):
            yield f"{who} may run as root"


def service_links_are_off(objects: Objects) -> Iterator[str]:
    """A Service's injected variables must not meet the ones an engine reads (vllm-project/vllm#34199)."""
    for workload in objects.workloads():
        if workload["spec"]["template"]["spec"].get("enableServiceLinks", True):
            yield f"{workload['metadata']['name']} gets variables from Services"


def no_shell_syntax_without_shell(objects: Objects) -> Iterator[str]:
    """``$NAME`` in an argument stays a name unless a shell reads it (ai-dynamo/dynamo#8369)."""
    for who, _, container in objects.containers():
        command = container.get("command", [])
        at_node = command.index("--") + 1 if command[:1] == ["nsenter"] else 0
        if command[at_node : at_node + 2] in (["/bin/sh", "-c"], ["/bin/bash", "-c"]):
            continue
        for argument in [*command, *container.get("args", [])]:
            if re.search(r"\$\{?[A-Za-z_]", argument):
                yield f"{who}: nobody expands {argument}"
