"""The invariants hold on every Dynamo stack, and each one notices when it is broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from ..cluster_objects import Body, Objects, objects_of
from . import invariants
from .cases import DYNAMO_CASES
from .graphs import component, container, pod

Check = Callable[[Objects], Iterator[str]]
CHECKS: dict[str, Check] = {name: getattr(invariants, name) for name in invariants.__all__}
PRESET = "a4x-max-dynamo"


def prefill(objects: Objects) -> Body:
    return component(objects, "prefill")


def frontend(objects: Objects) -> Body:
    return component(objects, "frontend")


def put(place: Any, key: Any, value: Any) -> None:
    place[key] = value


def swap(found: Body, name: str, value: str) -> None:
    """Give a flag another value."""
    arguments = container(found)["args"]
    arguments[next(i for i, a in enumerate(arguments) if a.startswith(f"--{name}="))] = f"--{name}={value}"


def drop(found: Body, name: str) -> None:
    """Take a flag away."""
    arguments = container(found)["args"]
    arguments[:] = [a for a in arguments if a.partition("=")[0] != f"--{name}"]


def environment(found: Body, name: str, value: str) -> None:
    next(e for e in container(found)["env"] if e["name"] == name)["value"] = value


def _edit_policy(objects: Objects, edit: Callable[[Body], None]) -> None:
    data = objects.one("ConfigMap", "router-policy")["data"]
    policy = yaml.safe_load(data["policy.yaml"])
    edit(policy)
    data["policy.yaml"] = yaml.safe_dump(policy)


BROKEN: dict[str, tuple[str, str, Callable[[Objects], None]]] = {
    "frontend moved, Service did not": (
        "frontend_ports_agree",
        PRESET,
        lambda o: swap(frontend(o), "http-port", "8080"),
    ),
    "health check of another port": (
        "frontend_ports_agree",
        PRESET,
        lambda o: put(o.kind("HealthCheckPolicy")[0]["spec"]["default"]["config"]["httpHealthCheck"], "port", 9090),
    ),
    "route to another Service": (
        "frontend_ports_agree",
        PRESET,
        lambda o: put(o.kind("HTTPRoute")[0]["spec"]["rules"][0]["backendRefs"][0], "name", "dynamo-frontend"),
    ),
    "policy about another backend": (
        "frontend_ports_agree",
        PRESET,
        lambda o: put(o.kind("GCPBackendPolicy")[0]["spec"], "targetRef", {"kind": "InferencePool", "name": "engine"}),
    ),
    "probe of the engine's own port": (
        "probes_find_the_system_port",
        PRESET,
        lambda o: put(container(prefill(o))["startupProbe"]["httpGet"], "port", 30000),
    ),
    "system port moved": (
        "probes_find_the_system_port",
        PRESET,
        lambda o: environment(prefill(o), "DYN_SYSTEM_PORT", "9091"),
    ),
    "router counts other blocks": (
        "block_sizes_agree",
        PRESET,
        lambda o: swap(frontend(o), "kv-cache-block-size", "16"),
    ),
    "vLLM's blocks differ": (
        "block_sizes_agree",
        "g4-dynamo",
        lambda o: swap(component(o, "worker"), "block-size", "16"),
    ),
    "no events for the router": ("block_sizes_agree", PRESET, lambda o: drop(prefill(o), "kv-events-config")),
    "router listens to nobody": (
        "block_sizes_agree",
        "dynamo-approximate",
        lambda o: container(frontend(o))["args"].append("--router-kv-events"),
    ),
    "ranks publish on the system port": (
        "event_ports_are_free",
        "dynamo-attention-ranks",
        lambda o: put(container(component(o, "worker"))["ports"][0], "containerPort", 5560),
    ),
    "policy that is not mounted": ("policy_is_mounted", PRESET, lambda o: pod(frontend(o))["volumes"].pop()),
    "policy that may change": (
        "policy_is_mounted",
        PRESET,
        lambda o: put(o.one("ConfigMap", "router-policy"), "immutable", value=False),
    ),
    "queue that never queues": (
        "policies_queue",
        "dynamo-bands",
        lambda o: _edit_policy(o, lambda policy: put(policy["policy_classes"][0], "prefill_busy_threshold", 0)),
    ),
    "default family that nobody is in": (
        "policies_queue",
        "dynamo-bands",
        lambda o: _edit_policy(o, lambda policy: put(policy, "default_policy_family", "premium")),
    ),
    "two of four GPUs used": ("gpus_are_ranks", PRESET, lambda o: swap(prefill(o), "tp-size", "2")),
    "half of the nodes": (
        "gpus_are_ranks",
        "a4x-max-dynamo-bf16",
        lambda o: component(o, "worker").pop("multinode"),
    ),
    "prefill worker that does both": ("roles_agree", PRESET, lambda o: drop(prefill(o), "disaggregation-mode")),
    "two ways for one cache": (
        "roles_agree",
        PRESET,
        lambda o: swap(prefill(o), "disaggregation-transfer-backend", "nixl"),
    ),
    "Service selects nothing": (
        "selectors_find_pods",
        PRESET,
        lambda o: put(o.one("Service", "frontend")["spec"], "selector", {"app.kubernetes.io/component": "frontend"}),
    ),
    "affinity to labels that Grove replaces": (
        "selectors_find_pods",
        PRESET,
        lambda o: put(
            pod(prefill(o))["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0],
            "labelSelector",
            {"matchLabels": {"app.kubernetes.io/instance": "test", "app.kubernetes.io/component": "engine"}},
        ),
    ),
    "budget of another role": (
        "selectors_find_pods",
        PRESET,
        lambda o: put(
            o.one("PodDisruptionBudget", "prefill")["spec"]["selector"]["matchLabels"], "beamline/role", "decode"
        ),
    ),
    "label that Grove replaces": (
        "labels_survive_grove",
        PRESET,
        lambda o: put(prefill(o)["podTemplate"]["metadata"]["labels"], "app.kubernetes.io/component", "engine"),
    ),
    "worker loads another revision": (
        "weights_agree",
        PRESET,
        lambda o: swap(prefill(o), "model-path", "/weights/beam-fp8-0123456789"),
    ),
    "drafter is not awaited": (
        "weights_agree",
        "dynamo-drafter",
        lambda o: pod(prefill(o))["initContainers"][0]["command"].__delitem__(slice(-2, None)),
    ),
    "size of all ranks given to each": ("tiers_fit", PRESET, lambda o: swap(prefill(o), "hicache-size", "429")),
    "tier on a decode worker": (
        "tiers_fit",
        PRESET,
        lambda o: container(component(o, "decode"))["args"].append("--enable-hierarchical-cache"),
    ),
    "disk tier without a bound": (
        "tiers_fit",
        "a4x-max-dynamo",
        lambda o: environment(prefill(o), "SGLANG_HICACHE_FILE_BACKEND_MAX_SIZE", "0"),
    ),
    "disk tier on the container's layer": (
        "tiers_fit",
        "a4x-max-dynamo",
        lambda o: environment(prefill(o), "SGLANG_HICACHE_FILE_BACKEND_STORAGE_DIR", "/tmp/hicache"),
    ),
    "volume nobody mounts": (
        "caches_are_on_volumes",
        PRESET,
        lambda o: pod(prefill(o))["volumes"].append({"name": "spare", "emptyDir": {}}),
    ),
    "cache on the container's layer": (
        "caches_are_on_volumes",
        PRESET,
        lambda o: environment(frontend(o), "HF_HOME", "/root/.cache"),
    ),
    "second shared memory": (
        "shared_memory_is_the_operators",
        PRESET,
        lambda o: container(prefill(o))["volumeMounts"].append({"name": "shm", "mountPath": "/dev/shm"}),
    ),
    "capability the transport does not ask for": (
        "pods_are_restricted",
        PRESET,
        lambda o: put(container(prefill(o))["securityContext"], "capabilities", {"drop": ["ALL"], "add": ["IPC_LOCK"]}),
    ),
    "frontend gets the engine's capability": (
        "pods_are_restricted",
        "dynamo-rdma",
        lambda o: put(container(frontend(o))["securityContext"]["capabilities"], "add", ["IPC_LOCK"]),
    ),
    "reserved container name": (
        "pods_are_restricted",
        PRESET,
        lambda o: put(pod(prefill(o))["initContainers"][0], "name", "runtime"),
    ),
    "service links at their default": (
        "pods_are_restricted",
        PRESET,
        lambda o: pod(frontend(o)).pop("enableServiceLinks"),
    ),
    "claim the container does not use": (
        "claims_agree",
        PRESET,
        lambda o: container(prefill(o))["resources"].pop("claims"),
    ),
    "template nobody makes": (
        "claims_agree",
        PRESET,
        lambda o: put(pod(prefill(o))["resourceClaims"][0], "resourceClaimTemplateName", "channel"),
    ),
}


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("case", DYNAMO_CASES)
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
