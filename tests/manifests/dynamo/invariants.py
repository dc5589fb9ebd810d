"""What must hold between objects of a Dynamo stack: each check returns complaints, none when all is well."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from ..cluster_objects import Body, Objects, flag
from ..mounted import mounted_agree
from .graphs import component, components, container, environment, pod, workers

__all__ = [
    "block_sizes_agree",
    "caches_are_on_volumes",
    "claims_agree",
    "event_ports_are_free",
    "frontend_ports_agree",
    "gpus_are_ranks",
    "labels_survive_grove",
    "pods_are_restricted",
    "policies_queue",
    "policy_is_mounted",
    "probes_find_the_system_port",
    "roles_agree",
    "selectors_find_pods",
    "shared_memory_is_the_operators",
    "tiers_fit",
    "weights_agree",
]

_GROVES = {
    "app.kubernetes.io/name",
    "app.kubernetes.io/component",
    "app.kubernetes.io/part-of",
    "app.kubernetes.io/managed-by",
}
"""Labels that Grove writes over those of a pod template."""
_FOLDER = re.compile(r"(HOME|CACHE_(HOME|ROOT|DIR|PATH)|_BASE|STORAGE_DIR)\Z")
_GIB = 2**30


def frontend_ports_agree(objects: Objects) -> Iterator[str]:
    """One number for the frontend, its Service, route and health check; one name for probes."""
    frontend, service = component(objects, "frontend"), objects.one("Service", "frontend")
    (port,), (offered,) = container(frontend)["ports"], service["spec"]["ports"]
    (backend,) = objects.kind("HTTPRoute")[0]["spec"]["rules"][0]["backendRefs"]
    health = objects.one("HealthCheckPolicy", "frontend")["spec"]["default"]["config"]["httpHealthCheck"]
    numbers = {
        int(flag(container(frontend), "http-port")),
        port["containerPort"],
        offered["port"],
        backend["port"],
        health["port"],
    }
    names = {port["name"], offered["targetPort"], *_probed(frontend), *_scraped(objects, "frontend")}
    if len(numbers) > 1 or len(names) > 1 or backend["name"] != service["metadata"]["name"]:
        yield f"frontend port: {sorted(numbers)}, {sorted(names)}; the route goes to {backend['name']}"
    for kind in ("HealthCheckPolicy", "GCPBackendPolicy"):
        target = objects.kind(kind)[0]["spec"]["targetRef"]
        if (target["kind"], target["name"]) != ("Service", service["metadata"]["name"]):
            yield f"{kind} is about {target}"


def _probed(found: Body) -> Iterator[str]:
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        if probe in container(found):
            yield container(found)[probe]["httpGet"]["port"]


def _scraped(objects: Objects, name: str) -> Iterator[str]:
    for body in objects.kind("PodMonitoring"):
        if body["metadata"]["name"] == name:
            yield from (e["port"] for e in body["spec"]["endpoints"])


def probes_find_the_system_port(objects: Objects) -> Iterator[str]:
    """Probes, scraping and the variable mean one port; a wait for the engine is the startup probe's."""
    for worker in workers(objects):
        (port,) = container(worker)["ports"]
        if {*_probed(worker), *_scraped(objects, "engine"), port["name"]} != {"system"}:
            yield f"{worker['name']}: probes or scraping ask another port than {port['name']}"
        if environment(worker)["DYN_SYSTEM_PORT"] != str(port["containerPort"]):
            yield f"{worker['name']}: listens on another port than {port['containerPort']}"


def block_sizes_agree(objects: Objects) -> Iterator[str]:
    """A router that counts in other blocks than the engine finds no prefix; one that hears of none knows none."""
    frontend = container(component(objects, "frontend"))
    mode, size = flag(frontend, "router-mode"), flag(frontend, "kv-cache-block-size")
    listens = flag(frontend, "router-kv-events") is not None
    if (mode == "kv") != (listens != (flag(frontend, "no-router-kv-events") is not None)):
        yield f"router mode {mode} does not say whether it listens to events"
    for worker in workers(objects):
        page = flag(container(worker), "page-size") or flag(container(worker), "block-size")
        if mode == "kv" and size != page:
            yield f"{worker['name']}: pages of {page} tokens, the router counts blocks of {size}"
        events = flag(container(worker), "kv-events-config")
        if worker["type"] != "decode" and (events is not None) != listens:
            yield f"{worker['name']}: the router {'listens' if listens else 'does not listen'}, events {events}"


def event_ports_are_free(objects: Objects) -> Iterator[str]:
    """Each attention rank publishes on a port of its own, the first one's and up; nothing else listens there."""
    for worker in workers(objects):
        main = container(worker)
        events = flag(main, "kv-events-config")
        if events is None:
            continue
        first = int(events["endpoint"].rpartition(":")[2])
        ranks = int(flag(main, "attn-dp-size") or flag(main, "data-parallel-size") or 1)
        others = {port["containerPort"] for port in main["ports"]}
        others |= {int(port) for port in (flag(main, "disaggregation-bootstrap-port"),) if port}
        if taken := others & set(range(first, first + ranks)):
            yield f"{worker['name']}: {ranks} ranks publish from {first} on, taken are {sorted(taken)}"


def policy_is_mounted(objects: Objects) -> Iterator[str]:
    """The file the router reads is mounted where it looks, from an object that cannot be changed."""
    frontend = component(objects, "frontend")
    path = flag(container(frontend), "router-policy-config")
    maps = {v["configMap"]["name"]: v["name"] for v in pod(frontend)["volumes"] if "configMap" in v}
    if path is None:
        if maps:
            yield f"mounted and not read: {maps}"
        return
    folders = {m["mountPath"]: m["name"] for m in container(frontend)["volumeMounts"]}
    folder, _, file = path.rpartition("/")
    found = [b for b in objects.kind("ConfigMap") if maps.get(b["metadata"]["name"]) == folders.get(folder, "")]
    if len(found) != 1 or file not in found[0]["data"] or not found[0]["immutable"]:
        yield f"{path} is in none of {sorted(maps)}"


def policies_queue(objects: Objects) -> Iterator[str]:
    """Every class has a threshold, without which it never queues, and its share; the default family is there."""
    for body in objects.kind("ConfigMap"):
        if "policy.yaml" not in body["data"]:
            continue
        policy = yaml.safe_load(body["data"]["policy.yaml"])
        classes = policy.get("policy_classes", [])
        buckets = {bucket["bucket"] for bucket in policy.get("uncached_isl_buckets", [])}
        for each in classes:
            numbers = [each["quantum"], each["prefill_busy_threshold"], each.get("request_queue_limit_per_worker", 1)]
            if not all(isinstance(number, int) and number > 0 for number in numbers):
                yield f"{each['name']}: {numbers}"
            if each["cache_bucket"] not in buckets:
                yield f"{each['name']} is in a bucket that is not there"
        if classes and policy["default_policy_family"] not in {each["policy_family"] for each in classes}:
            yield f"nobody is in {policy['default_policy_family']}"


def gpus_are_ranks(objects: Objects) -> Iterator[str]:
    """GPUs of a pod times pods of a replica are the ranks the engine starts."""
    for worker in workers(objects):
        tp = flag(container(worker), "tp-size") or flag(container(worker), "tensor-parallel-size")
        gpus = int(container(worker)["resources"]["limits"]["nvidia.com/gpu"])
        nodes = worker.get("multinode", {}).get("nodeCount", 1)
        if gpus * nodes != int(tp):
            yield f"{worker['name']}: {gpus} GPUs in each of {nodes} pods, {tp} ranks"


def roles_agree(objects: Objects) -> Iterator[str]:
    """Without the flag a prefill worker would register as one that does both (ai-dynamo/dynamo#13238)."""
    for worker in workers(objects):
        mode = flag(container(worker), "disaggregation-mode")
        if mode != (None if worker["type"] == "worker" else worker["type"]) or worker["name"] != worker["type"]:
            yield f"{worker['name']} of type {worker['type']} runs in mode {mode}"
    backends = {flag(container(w), "disaggregation-transfer-backend") for w in workers(objects)}
    if len(backends) > 1:
        yield f"prefill and decode move KV cache by {backends}"


def selectors_find_pods(objects: Objects) -> Iterator[str]:
    """Every selector finds pods of the graph; only the policy that is about all of them finds several components."""
    pods = {c["name"]: c["podTemplate"]["metadata"]["labels"] for c in components(objects)}
    engines = sorted(w["name"] for w in workers(objects))
    wanted: list[tuple[str, dict[str, str], list[str]]] = [
        ("Service/frontend", objects.one("Service", "frontend")["spec"]["selector"], ["frontend"]),
        *(
            (f"PodMonitoring/{b['metadata']['name']}", b["spec"]["selector"]["matchLabels"], engines)
            for b in objects.kind("PodMonitoring")
            if b["metadata"]["name"] == "engine"
        ),
        *(
            (f"PodDisruptionBudget/{name}", body["spec"]["selector"]["matchLabels"], [name])
            for body in objects.kind("PodDisruptionBudget")
            for name in (body["metadata"]["name"],)
        ),
        ("NetworkPolicy/graph", _selected(objects, "graph"), sorted(pods)),
        ("NetworkPolicy/frontend", _selected(objects, "frontend"), ["frontend"]),
    ]
    for worker in workers(objects):
        if "affinity" in pod(worker):
            (term,) = pod(worker)["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            wanted.append((f"affinity of {worker['name']}", term["labelSelector"]["matchLabels"], engines))
    for who, labels, expected in wanted:
        found = sorted(name for name, own in pods.items() if labels.items() <= own.items())
        if found != expected:
            yield f"{who} finds {found}, not {expected}"


def _selected(objects: Objects, name: str) -> dict[str, str]:
    found: dict[str, str] = objects.one("NetworkPolicy", name)["spec"]["podSelector"]["matchLabels"]
    return found


def labels_survive_grove(objects: Objects) -> Iterator[str]:
    """Grove writes its own values over the recommended labels: what the template says would not be on the pods."""
    for found in components(objects):
        lost = _GROVES & found["podTemplate"]["metadata"]["labels"].keys()
        if lost:
            yield f"{found['name']}: {sorted(lost)} will not be on the pods"


def _loaded(worker: Body) -> set[str]:
    return set(re.findall(r"/weights/[a-z0-9/-]+", " ".join(container(worker)["args"])))


def weights_agree(objects: Objects) -> Iterator[str]:
    """Workers wait for what is seeded, or mount it, and load from there."""
    if not any(w["metadata"]["name"] == "seeding" for w in objects.workloads()):
        for worker in workers(objects):
            yield from mounted_agree(objects, worker["name"], worker["podTemplate"], _loaded(worker))
        return
    seeded = set()
    for seeder in objects.pod("seeding")["containers"]:
        values = {e["name"]: e["value"] for e in seeder["env"]}
        seeded.add((f"/weights/{values['KEY']}", values["MARKER"]))
    for worker in workers(objects):
        (waiting,) = pod(worker)["initContainers"]
        sets = waiting["command"][4:]
        if set(zip(sets[::2], sets[1::2], strict=True)) != seeded:
            yield f"{worker['name']} waits for {sets}, seeded are {sorted(seeded)}"
        loaded = _loaded(worker)
        if loaded != {path for path, _ in seeded}:
            yield f"{worker['name']} loads {sorted(loaded)}"


def tiers_fit(objects: Objects) -> Iterator[str]:
    """Ranks times the tier, shared memory besides, stay below the pod's limits; a tier without a bound does not."""
    for worker in workers(objects):
        main, limits = container(worker), container(worker)["resources"]["limits"]
        ranks = int(limits["nvidia.com/gpu"])
        host = int(flag(main, "hicache-size") or 0) * 10**9 * ranks
        shared = _bytes(worker["sharedMemorySize"])
        if host + shared >= _bytes(limits["memory"]):
            yield f"{worker['name']}: host tier and shared memory do not fit {limits['memory']}"
        if worker["type"] == "decode" and flag(main, "enable-hierarchical-cache") is not None:
            yield f"{worker['name']}: keeps no prefix, so a tier is refused"
        if flag(main, "hicache-storage-backend") == "file":
            values = environment(worker)
            disk = int(values.get("SGLANG_HICACHE_FILE_BACKEND_MAX_SIZE", 0)) * ranks
            on_ephemeral = any(v["name"] == "kv-tier" and "emptyDir" in v for v in pod(worker)["volumes"])
            if disk <= 0 or (on_ephemeral and disk >= _bytes(limits["ephemeral-storage"])):
                yield f"{worker['name']}: disk tier of {disk} bytes in {limits['ephemeral-storage']}"
            if values["SGLANG_HICACHE_FILE_BACKEND_STORAGE_DIR"] not in {m["mountPath"] for m in main["volumeMounts"]}:
                yield f"{worker['name']}: the disk tier's folder is no volume"


def _bytes(quantity: str) -> int:
    return int(quantity.removesuffix("Gi")) * _GIB


def caches_are_on_volumes(objects: Objects) -> Iterator[str]:
    """No mount without volume, no volume without mount, no cache on the container's own layer."""
    for found in components(objects):
        volumes = {v["name"] for v in pod(found)["volumes"]}
        containers = [*pod(found).get("initContainers", []), *pod(found)["containers"]]
        mounted = {m["name"] for c in containers for m in c["volumeMounts"]}
        if mounted != volumes:
            yield f"{found['name']}: volumes {sorted(volumes)}, mounted {sorted(mounted)}"
        writable = tuple(m["mountPath"] for m in container(found)["volumeMounts"] if not m.get("readOnly"))
        for name, value in environment(found).items():
            if _FOLDER.search(name) and not value.startswith(writable):
                yield f"{found['name']}: {name}={value} is on no writable volume"


def shared_memory_is_the_operators(objects: Objects) -> Iterator[str]:
    """The operator mounts /dev/shm; a volume of the kit's own there would be the second."""
    for worker in workers(objects):
        if any(m["mountPath"] == "/dev/shm" for m in container(worker)["volumeMounts"]):
            yield f"{worker['name']} mounts /dev/shm itself"
        if _bytes(worker["sharedMemorySize"]) <= 0:
            yield f"{worker['name']} has no shared memory"


def pods_are_restricted(objects: Objects) -> Iterator[str]:
    """No right but what the transport asks for; service links off; the reserved name not taken."""
    for found in components(objects):
        allowed = objects.capabilities if found["type"] != "frontend" else frozenset()
        for part in [*pod(found).get("initContainers", []), *pod(found)["containers"]]:
            context: dict[str, Any] = part["securityContext"]
            added = set(context["capabilities"].get("add", []))
            fine = context["readOnlyRootFilesystem"] and not context["allowPrivilegeEscalation"]
            if not fine or context["capabilities"]["drop"] != ["ALL"] or added - allowed:
                yield f"{found['name']}/{part['name']} is not confined: {context}"
            if part["name"] == "runtime":
                yield f"{found['name']}: the name runtime is the operator's"
        if not allowed and not pod(found)["securityContext"].get("runAsNonRoot"):
            yield f"{found['name']} may run as root"
        if pod(found).get("enableServiceLinks", True):
            yield f"{found['name']} gets variables from Services"


def claims_agree(objects: Objects) -> Iterator[str]:
    """What a container claims its pod has, and the template is there or its driver makes it."""
    made = {b["metadata"]["name"] for b in objects.kind("ResourceClaimTemplate")}
    made |= {b["spec"]["channel"]["resourceClaimTemplate"]["name"] for b in objects.kind("ComputeDomain")}
    for worker in workers(objects):
        claims = {c["name"]: c["resourceClaimTemplateName"] for c in pod(worker).get("resourceClaims", [])}
        used = {c["name"] for c in container(worker)["resources"].get("claims", [])}
        if used != claims.keys() or not set(claims.values()) <= made:
            yield f"{worker['name']}: pod has {claims}, container uses {sorted(used)}, made are {sorted(made)}"
