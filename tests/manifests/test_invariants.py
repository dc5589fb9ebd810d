"""The invariants hold on every stack, and each one notices when it is broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from . import invariants
from .cases import CASES, spec_of
from .cluster_objects import Objects, objects_of

Check = Callable[[Objects], Iterator[str]]
CHECKS: dict[str, Check] = {name: getattr(invariants, name) for name in invariants.__all__}


def engine(objects: Objects) -> Any:
    return objects.container("engine")


def template(objects: Objects) -> Any:
    return objects.one("Deployment", "engine")["spec"]["template"]


def put(place: Any, key: Any, value: Any) -> None:
    place[key] = value


def swap(arguments: list[str], name: str, value: str) -> None:
    """Give a flag another value."""
    place = next(i for i, a in enumerate(arguments) if a.startswith(f"--{name}="))
    arguments[place] = f"--{name}={value}"


def swap_in_all(objects: Objects, name: str, value: str) -> None:
    """Give a flag of every engine container another value."""
    for container in objects.engines():
        swap(container["args"], name, value)


def drop(objects: Objects, kind: str, name: str) -> None:
    objects.remove(objects.one(kind, name))


def environment(container: Any, name: str, value: str) -> None:
    next(e for e in container["env"] if e["name"] == name)["value"] = value


BROKEN: dict[str, tuple[str, str, Callable[[Objects], None]]] = {
    "engine moved, pool did not": ("engine_ports_agree", "g4-llmd", lambda o: swap(engine(o)["args"], "port", "8300")),
    "health check of another port": (
        "engine_ports_agree",
        "g4-llmd",
        lambda o: put(
            o.one("HealthCheckPolicy", "engine")["spec"]["default"]["config"]["httpHealthCheck"], "port", 8001
        ),
    ),
    "proxy asks another port than the engine's": (
        "engine_ports_agree",
        "apart",
        lambda o: swap(o.proxy("engine-decode")["args"], "model-server-port", "8100"),
    ),
    "proxy moved, pool did not": (
        "engine_ports_agree",
        "apart",
        lambda o: swap(o.proxy("engine-decode")["args"], "port", "8300"),
    ),
    "prefill moved, pool did not": (
        "engine_ports_agree",
        "apart",
        lambda o: swap(o.container("engine-prefill")["args"], "port", "8300"),
    ),
    "load balancer asks the proxy how the engine is": (
        "engine_ports_agree",
        "apart",
        lambda o: put(
            o.one("HealthCheckPolicy", "engine")["spec"]["default"]["config"]["httpHealthCheck"],
            "requestPath",
            "/health",
        ),
    ),
    "decode in another NVLink domain than prefill": (
        "selectors_find_pods",
        "apart-in-groups",
        lambda o: put(
            o.pod("engine-decode")["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0][
                "labelSelector"
            ]["matchLabels"],
            "llm-d.ai/role",
            "decode",
        ),
    ),
    "probe of an unnamed port": (
        "engine_ports_agree",
        "g4-llmd",
        lambda o: put(engine(o)["readinessProbe"]["httpGet"], "port", "web"),
    ),
    "Service offers another port": (
        "router_ports_agree",
        "g4-llmd",
        lambda o: put(o.one("Service", "router")["spec"]["ports"][0], "port", 9000),
    ),
    "Service selects nothing": (
        "selectors_find_pods",
        "g4-llmd",
        lambda o: put(o.one("Service", "router")["spec"], "selector", {"app": "epp"}),
    ),
    "pool selects all pods": (
        "selectors_find_pods",
        "g4-llmd",
        lambda o: o.one("InferencePool", "engine")["spec"]["selector"]["matchLabels"].pop(
            "app.kubernetes.io/component"
        ),
    ),
    "disruption budget misses": (
        "selectors_find_pods",
        "g4-llmd-multi",
        lambda o: put(
            o.one("PodDisruptionBudget", "engine")["spec"]["selector"]["matchLabels"],
            "app.kubernetes.io/instance",
            "other",
        ),
    ),
    "configuration missing": ("names_are_known", "g4-llmd", lambda o: drop(o, "ConfigMap", "router-config")),
    "service account missing": ("names_are_known", "g4-llmd", lambda o: drop(o, "ServiceAccount", "engine")),
    "hub token's class missing": (
        "names_are_known",
        "drafter-from-hub",
        lambda o: drop(o, "SecretProviderClass", "hub-tokens"),
    ),
    "route to an unknown pool": (
        "names_are_known",
        "g4-llmd",
        lambda o: put(o.one("HTTPRoute", "engine")["spec"]["rules"][0]["backendRefs"][0], "name", "pool"),
    ),
    "namespace missing": ("names_are_known", "g4-llmd", lambda o: drop(o, "Namespace", "beam-weights")),
    "gateway gives up first": (
        "timeouts_are_ordered",
        "g4-llmd",
        lambda o: put(o.one("GCPBackendPolicy", "engine")["spec"]["default"], "timeoutSec", 300),
    ),
    "grace period forgets the pause": (
        "timeouts_are_ordered",
        "g4-llmd",
        lambda o: put(o.pod("engine"), "terminationGracePeriodSeconds", 1801),
    ),
    "idle connections close too early": (
        "timeouts_are_ordered",
        "g4-llmd",
        lambda o: environment(engine(o), "VLLM_HTTP_TIMEOUT_KEEP_ALIVE", "5"),
    ),
    "startup slower than the deadline": (
        "timeouts_are_ordered",
        "g4-llmd",
        lambda o: put(engine(o)["startupProbe"], "failureThreshold", 1000),
    ),
    "two of eight GPUs used": (
        "gpus_are_ranks",
        "g4-llmd",
        lambda o: swap(engine(o)["args"], "tensor-parallel-size", "2"),
    ),
    "engine loads another revision": (
        "weights_agree",
        "g4-llmd",
        lambda o: put(engine(o)["args"], 0, "/weights/beam-fp8-0123456789"),
    ),
    "engine waits for another source": (
        "weights_agree",
        "g4-llmd",
        lambda o: put(o.pod("engine")["initContainers"][0]["command"], 5, "gs://other/prefix"),
    ),
    "drafter is not awaited": (
        "weights_agree",
        "drafter-from-bucket",
        lambda o: put(o.pod("engine")["initContainers"][0], "command", ["", "", "", "", *["/weights/x", "y"]]),
    ),
    "volume of another folder": (
        "weights_agree",
        "g4-llmd",
        lambda o: put(o.kind("PersistentVolume")[0]["spec"]["local"], "path", "/mnt/disks"),
    ),
    "engine loads what it does not mount": (
        "weights_agree",
        "g4-llmd-gcs-fuse",
        lambda o: put(engine(o)["args"], 0, "/weights/beam-fp8-0123456789"),
    ),
    "nothing mounts the bucket": (
        "weights_agree",
        "g4-llmd-gcs-fuse",
        lambda o: put(template(o)["metadata"], "annotations", {}),
    ),
    "cache larger than its container": (
        "weights_agree",
        "g4-llmd-gcs-fuse",
        lambda o: put(template(o)["metadata"]["annotations"], "gke-gcsfuse/ephemeral-storage-limit", "400Gi"),
    ),
    "bucket of another user": (
        "weights_agree",
        "g4-llmd-gcs-fuse",
        lambda o: put(template(o)["spec"]["securityContext"], "runAsUser", 1000),
    ),
    "disk may be written": (
        "weights_agree",
        "g4-llmd-hyperdisk-ml",
        lambda o: put(o.kind("PersistentVolume")[0]["spec"], "accessModes", ["ReadWriteOnce"]),
    ),
    "disk goes with the stack": (
        "weights_agree",
        "g4-llmd-hyperdisk-ml",
        lambda o: put(o.kind("PersistentVolume")[0]["spec"], "persistentVolumeReclaimPolicy", "Delete"),
    ),
    "engine loads from beside the disk": (
        "weights_agree",
        "g4-llmd-hyperdisk-ml",
        lambda o: put(engine(o)["args"], 0, "/models/beam"),
    ),
    "shared memory too small": (
        "tiers_fit",
        "g4-llmd",
        lambda o: put(o.pod("engine")["volumes"][-1]["emptyDir"], "sizeLimit", "64Gi"),
    ),
    "capacity taken for the whole replica's": (
        "tiers_fit",
        "local-ssd-tier",
        lambda o: swap(
            engine(o)["args"],
            "kv-transfer-config",
            '{"kv_connector_extra_config":{"disk_capacity_bytes":2147483648000,"disk_path":"/kv-tier/blocks"}}',
        ),
    ),
    "tier on the container's layer": (
        "tiers_fit",
        "local-ssd-tier",
        lambda o: swap(
            engine(o)["args"],
            "kv-transfer-config",
            '{"kv_connector_extra_config":{"disk_capacity_bytes":1,"disk_path":"/data/blocks"}}',
        ),
    ),
    "volume nobody mounts": (
        "mounts_and_volumes_match",
        "g4-llmd",
        lambda o: o.pod("engine")["volumes"].append({"name": "spare", "emptyDir": {}}),
    ),
    "cache on the container's layer": (
        "mounts_and_volumes_match",
        "g4-llmd",
        lambda o: environment(engine(o), "HF_HOME", "/root/.cache"),
    ),
    "engine reads the node's folder directly": (
        "namespaces_are_as_strict_as_can_be",
        "g4-llmd",
        lambda o: put(o.pod("engine")["volumes"], 0, {"name": "weights", "hostPath": {"path": "/mnt"}}),
    ),
    "engine's namespace too lax": (
        "namespaces_are_as_strict_as_can_be",
        "g4-llmd",
        lambda o: put(o.kind("Namespace")[0]["metadata"]["labels"], "pod-security.kubernetes.io/enforce", "privileged"),
    ),
    "capability added": (
        "pods_are_restricted",
        "g4-llmd",
        lambda o: put(engine(o)["securityContext"], "capabilities", {"add": ["IPC_LOCK"]}),
    ),
    "engine gets a token": (
        "pods_are_restricted",
        "g4-llmd",
        lambda o: put(o.pod("engine"), "automountServiceAccountToken", True),  # noqa: FBT003 - a manifest's value
    ),
    "service links at their default": (
        "service_links_are_off",
        "g4-llmd",
        lambda o: o.pod("engine").pop("enableServiceLinks"),
    ),
    "pool selects workers, which serve nothing": (
        "selectors_find_pods",
        "a4x-max-llmd",
        lambda o: put(
            o.one("InferencePool", "engine")["spec"]["selector"], "matchLabels", {"app.kubernetes.io/instance": "test"}
        ),
    ),
    "disruption budget forgets workers": (
        "selectors_find_pods",
        "a4x-max-llmd",
        lambda o: o.one("PodDisruptionBudget", "engine")["spec"]["selector"]["matchExpressions"][0]["values"].pop(),
    ),
    "new pods beside old ones": (
        "revisions_are_placed_apart",
        "one-node-nvlink",
        lambda o: put(
            o.pod("engine")["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0],
            "matchLabelKeys",
            ["leaderworkerset.sigs.k8s.io/template-revision-hash"],
        ),
    ),
    "a pod too many in a group": (
        "groups_are_one_replica",
        "a4x-max-llmd",
        lambda o: put(o.one("LeaderWorkerSet", "engine")["spec"]["leaderWorkerTemplate"], "size", 3),
    ),
    "worker serves too": (
        "groups_are_one_replica",
        "a4x-max-llmd",
        lambda o: o.container("engine-worker")["args"].remove("--headless"),
    ),
    "worker is probed": (
        "groups_are_one_replica",
        "a4x-max-llmd",
        lambda o: put(o.container("engine-worker"), "readinessProbe", engine(o)["readinessProbe"]),
    ),
    "every pod is the first": (
        "groups_are_one_replica",
        "a4x-max-llmd",
        lambda o: swap_in_all(o, "node-rank", "0"),
    ),
    "worker loads another revision": (
        "groups_are_one_replica",
        "a4x-max-llmd",
        lambda o: put(o.container("engine-worker")["args"], 0, "/weights/beam-bf16-0123456789"),
    ),
    "worker has less memory": (
        "groups_are_one_replica",
        "a4x-max-llmd",
        lambda o: put(o.container("engine-worker")["resources"]["limits"], "memory", "1Gi"),
    ),
    "a rank restarts alone": (
        "groups_are_one_replica",
        "a4x-max-llmd",
        lambda o: put(o.one("LeaderWorkerSet", "engine")["spec"]["leaderWorkerTemplate"], "restartPolicy", "None"),
    ),
    "half of a group's GPUs used": (
        "gpus_are_ranks",
        "a4x-max-llmd",
        lambda o: swap_in_all(o, "tensor-parallel-size", "4"),
    ),
    "worker claims no channel": (
        "claims_agree",
        "a4x-max-llmd",
        lambda o: o.pod("engine-worker").pop("resourceClaims"),
    ),
    "claim of the pod that its container does not use": (
        "claims_agree",
        "rdma",
        lambda o: engine(o)["resources"]["claims"].pop(),
    ),
    "claim template of another name": (
        "claims_agree",
        "rdma",
        lambda o: put(o.one("ResourceClaimTemplate", "rdma")["metadata"], "name", "mrdma"),
    ),
    "namespace too strict for the transport's capability": (
        "namespaces_are_as_strict_as_can_be",
        "rdma",
        lambda o: put(o.kind("Namespace")[1]["metadata"]["labels"], "pod-security.kubernetes.io/enforce", "baseline"),
    ),
    "a capability more than the transport asks for": (
        "pods_are_restricted",
        "rdma",
        lambda o: engine(o)["securityContext"]["capabilities"]["add"].append("SYS_ADMIN"),
    ),
    "variable nobody expands": (
        "no_shell_syntax_without_shell",
        "g4-llmd",
        lambda o: engine(o)["args"].append("--master-addr=$LWS_LEADER_ADDRESS"),
    ),
}


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("case", CASES)
def test_holds(case: str, check: str) -> None:
    assert list(CHECKS[check](objects_of(case))) == []


@pytest.mark.parametrize("mistake", BROKEN)
def test_a_mistake_is_noticed(mistake: str) -> None:
    check, case, break_it = BROKEN[mistake]
    objects = objects_of(case)
    break_it(objects)
    assert len(list(CHECKS[check](objects))) > 0


def test_every_invariant_has_a_mistake() -> None:
    assert {check for check, _, _ in BROKEN.values()} == set(CHECKS)


@pytest.mark.parametrize("case", CASES)
def test_client_waits_longest(case: str) -> None:
    derived = spec_of(case).derived
    assert derived.client_timeout_s > derived.gateway_timeout_s > derived.engine_drain_s
