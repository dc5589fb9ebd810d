"""What must hold between objects, whatever the stack: each check returns complaints, none when all is well.

Schemas judge one object at a time. These are about two or more of them agreeing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .cluster_objects import Body, Objects, flag

__all__ = [
    "engine_ports_agree",
    "gpus_are_ranks",
    "host_paths_stay_in_the_privileged_namespace",
    "mounts_and_volumes_match",
    "names_are_known",
    "no_shell_syntax_without_shell",
    "pods_are_restricted",
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
    """One number for vLLM, its pod, the pool and the health check; one name for probes and scraping."""
    engine, pool = objects.container("engine"), objects.one("InferencePool", "engine")
    (port,) = engine["ports"]
    health = objects.one("HealthCheckPolicy", "engine")["spec"]["default"]["config"]["httpHealthCheck"]
    (target,) = pool["spec"]["targetPorts"]
    yield from _agree(
        "engine port",
        argument=flag(engine, "port"),
        container=port["containerPort"],
        pool=target["number"],
        health_check=health["port"],
    )
    (scraped,) = objects.one("PodMonitoring", "engine")["spec"]["endpoints"]
    probes = {p: engine[p]["httpGet"]["port"] for p in ("startupProbe", "readinessProbe", "livenessProbe")}
    yield from _agree("engine port name", container=port["name"], scraped=scraped["port"], **probes)


def router_ports_agree(objects: Objects) -> Iterator[str]:
    """What the pool asks is what the Service offers and the picker listens on."""
    router = objects.container("router")
    ports = {p["name"]: p["containerPort"] for p in router["ports"]}
    (service,) = objects.one("Service", "router")["spec"]["ports"]
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
    (scraped,) = objects.one("PodMonitoring", "router")["spec"]["endpoints"]
    yield from _agree(
        "picker metrics port", argument=flag(router, "metrics-port"), container=ports.get(scraped["port"])
    )
    open_ports = {
        p["port"] for rule in objects.one("NetworkPolicy", "router")["spec"]["ingress"] for p in rule["ports"]
    }
    if open_ports != set(ports.values()):
        yield f"network policy opens {sorted(open_ports)}, the picker listens on {sorted(ports.values())}"


def _selectors(objects: Objects) -> Iterator[tuple[str, Body]]:
    for body in objects:
        spec, kind = body.get("spec", {}), body["kind"]
        who = f"{kind}/{body['metadata']['name']}"
        if kind in ("Deployment", "DaemonSet", "PodDisruptionBudget", "InferencePool", "PodMonitoring"):
            yield who, spec["selector"]["matchLabels"]
        elif kind == "Service":
            yield who, spec["selector"]
        elif kind == "NetworkPolicy":
            yield who, spec["podSelector"]["matchLabels"]


def selectors_find_pods(objects: Objects) -> Iterator[str]:
    """Every selector finds the pods of exactly one workload."""
    pods = {w["metadata"]["name"]: w["spec"]["template"]["metadata"]["labels"] for w in objects.workloads()}
    for who, wanted in _selectors(objects):
        found = [name for name, labels in pods.items() if wanted.items() <= labels.items()]
        if len(found) != 1:
            yield f"{who} selects the pods of {found or 'no workload'}"


Reference = tuple[str, str | None, str]
"""Kind, namespace (None: of the cluster) and name of what something refers to."""


def _volume_references(volume: Body, namespace: str) -> Iterator[Reference]:
    if "configMap" in volume:
        yield "ConfigMap", namespace, volume["configMap"]["name"]
    if "persistentVolumeClaim" in volume:
        yield "PersistentVolumeClaim", namespace, volume["persistentVolumeClaim"]["claimName"]
    if "csi" in volume:
        yield "SecretProviderClass", namespace, volume["csi"]["volumeAttributes"]["secretProviderClass"]


def _spec_references(kind: str, spec: Body, namespace: str | None) -> Iterator[Reference]:
    match kind:
        case "Deployment" | "DaemonSet":
            pod = spec["template"]["spec"]
            yield "ServiceAccount", namespace, pod["serviceAccountName"]
            for volume in pod["volumes"]:
                yield from _volume_references(volume, str(namespace))
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
            yield "InferencePool", namespace, spec["rules"][0]["backendRefs"][0]["name"]


def _references(objects: Objects) -> Iterator[tuple[str, Reference]]:
    for body in objects:
        kind, namespace = body["kind"], body["metadata"].get("namespace")
        if namespace:
            yield kind, ("Namespace", None, namespace)
        if kind == "RoleBinding":
            yield kind, ("Role", namespace, body["roleRef"]["name"])
            yield kind, ("ServiceAccount", body["subjects"][0]["namespace"], body["subjects"][0]["name"])
        for reference in _spec_references(kind, body.get("spec", {}), namespace):
            yield kind, reference
    router = objects.container("router")
    yield "router", ("InferencePool", flag(router, "pool-namespace"), flag(router, "pool-name"))


def names_are_known(objects: Objects) -> Iterator[str]:
    """Whatever an object names is there."""
    for who, (kind, namespace, name) in _references(objects):
        if name not in objects.names(kind, namespace):
            yield f"{who} names {kind} {name}, which is not in {namespace or 'the cluster'}"


def timeouts_are_ordered(objects: Objects) -> Iterator[str]:
    """The innermost deadline fires first, and pods get the time they were promised."""
    engine, pod = objects.container("engine"), objects.pod("engine")
    policy = objects.one("GCPBackendPolicy", "engine")["spec"]["default"]
    drain, pause = int(flag(engine, "shutdown-timeout")), engine["lifecycle"]["preStop"]["sleep"]["seconds"]
    grace = pod["terminationGracePeriodSeconds"]
    if not drain < policy["timeoutSec"]:
        yield f"the gateway gives up after {policy['timeoutSec']} s, the engine works for {drain} s"
    if grace < pause + drain:
        yield f"grace period {grace} s, but pause and drain take {pause + drain} s"
    if policy["connectionDraining"]["drainingTimeoutSec"] < min(3600, pause + drain):
        yield "the load balancer drops connections of an engine that still drains"
    environment = {e["name"]: e["value"] for e in engine["env"]}
    if int(environment["VLLM_HTTP_TIMEOUT_KEEP_ALIVE"]) <= 600:
        yield "the engine closes idle connections before Google's proxies do"
    probe = engine["startupProbe"]
    budget = probe["periodSeconds"] * probe["failureThreshold"]
    deadline = objects.one("Deployment", "engine")["spec"]["progressDeadlineSeconds"]
    if deadline < budget + grace:
        yield f"progress deadline {deadline} s, but the old pod may take {grace} s and the new one {budget} s"
    if int(environment["VLLM_ENGINE_READY_TIMEOUT_S"]) > budget:
        yield "the engine waits for itself longer than the startup probe does"


def gpus_are_ranks(objects: Objects) -> Iterator[str]:
    """As many GPUs as vLLM starts ranks."""
    engine = objects.container("engine")
    yield from _agree(
        "GPUs",
        limit=engine["resources"]["limits"]["nvidia.com/gpu"],
        request=engine["resources"]["requests"]["nvidia.com/gpu"],
        tensor_parallel=flag(engine, "tensor-parallel-size"),
    )


def weights_agree(objects: Objects) -> Iterator[str]:
    """Seeder and engine mean the same folder and the same marker, and the engine loads what was seeded."""
    seeding, engine = objects.pod("seeding"), objects.pod("engine")
    (volume,) = objects.kind("PersistentVolume")
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
    arguments = engine["containers"][0]
    loaded = {arguments["args"][0], *filter(None, [(flag(arguments, "speculative-config") or {}).get("model")])}
    if loaded != set(seeded):
        yield f"the engine loads {sorted(loaded)}, seeded is {sorted(seeded)}"


def tiers_fit(objects: Objects) -> Iterator[str]:
    """The KV tier fits the volume it lives in, and the volume fits the pod's limits."""
    engine = objects.container("engine")
    limits = {k: int(v.removesuffix("Gi")) * 2**30 for k, v in engine["resources"]["limits"].items() if "Gi" in v}
    (shm,) = (v["emptyDir"]["sizeLimit"] for v in objects.pod("engine")["volumes"] if v["name"] == "shm")
    shm_bytes = int(shm.removesuffix("Gi")) * 2**30
    extra = (flag(engine, "kv-transfer-config") or {}).get("kv_connector_extra_config", {})
    if extra.get("cpu_bytes_to_use", 0) > 0.9 * shm_bytes:
        yield "the host tier does not fit /dev/shm"
    if shm_bytes > limits["memory"]:
        yield "/dev/shm is larger than the pod's memory"
    ranks = int(flag(engine, "tensor-parallel-size"))
    if extra.get("disk_capacity_bytes", 0) * ranks > limits["ephemeral-storage"]:
        yield "the disk tier of all ranks does not fit the pod's ephemeral storage"
    path = str(extra.get("disk_path", "/cache/")).rpartition("/")[0]
    if path not in {m["mountPath"] for m in engine["volumeMounts"]}:
        yield f"the disk tier's folder {path} is on no volume"


def mounts_and_volumes_match(objects: Objects) -> Iterator[str]:
    """No mount without volume, no volume without mount, no cache on the container's own layer."""
    for workload in objects.workloads():
        pod = workload["spec"]["template"]["spec"]
        volumes = {v["name"] for v in pod["volumes"]}
        containers = [*pod.get("initContainers", []), *pod["containers"]]
        mounted = {m["name"] for c in containers for m in c["volumeMounts"]}
        if mounted != volumes:
            yield f"{workload['metadata']['name']}: volumes {sorted(volumes)}, mounted {sorted(mounted)}"
    for who, _, container in objects.containers():
        writable = [m["mountPath"] for m in container["volumeMounts"] if not m.get("readOnly")]
        for entry in container.get("env", []):
            value = entry.get("value", "")
            if re.search(r"(HOME|_CACHE|CACHE_|_ROOT|_BASE)", entry["name"]) and not value.startswith(tuple(writable)):
                yield f"{who}: {entry['name']}={value} is on no writable volume"


def host_paths_stay_in_the_privileged_namespace(objects: Objects) -> Iterator[str]:
    """The privileged level is for hostPath alone; the engine's namespace is restricted."""
    level = "pod-security.kubernetes.io/enforce"
    levels = {n["metadata"]["name"]: n["metadata"]["labels"][level] for n in objects.kind("Namespace")}
    for workload in objects.workloads():
        who, namespace = workload["metadata"]["name"], workload["metadata"]["namespace"]
        host = any("hostPath" in v for v in workload["spec"]["template"]["spec"]["volumes"])
        wanted = "privileged" if host else "restricted"
        if levels[namespace] != wanted:
            yield f"{who} runs at level {levels[namespace]} where {wanted} would do"


def pods_are_restricted(objects: Objects) -> Iterator[str]:
    """No capability, no escalation, no writable root; a token only where the API is called."""
    for who, pod, container in objects.containers():
        context = container["securityContext"]
        if context != {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        }:
            yield f"{who}/{container['name']} is not confined: {context}"
        if pod["automountServiceAccountToken"] != (who == "router"):
            yield f"{who}: token mounted is {pod['automountServiceAccountToken']}"
        if who != "seeding" and not pod["securityContext"].get("runAsNonRoot"):
            yield f"{who} may run as root"


def service_links_are_off(objects: Objects) -> Iterator[str]:
    """A Service's injected variables must not meet the ones an engine reads (vllm-project/vllm#34199)."""
    for workload in objects.workloads():
        if workload["spec"]["template"]["spec"].get("enableServiceLinks", True):
            yield f"{workload['metadata']['name']} gets variables from Services"


def no_shell_syntax_without_shell(objects: Objects) -> Iterator[str]:
    """``$NAME`` in an argument stays a name unless a shell reads it (ai-dynamo/dynamo#8369)."""
    for who, _, container in objects.containers():
        if container.get("command", [])[:2] == ["/bin/sh", "-c"]:
            continue
        for argument in [*container.get("command", []), *container.get("args", [])]:
            if re.search(r"\$\{?[A-Za-z_]", argument):
                yield f"{who}: nobody expands {argument}"
