"""The sidecar that bounds an engine's ``fs`` tier: its program, its container, its volume.

It is a native sidecar: an init container that keeps running, in the engine's pod, from the engine's image, as the
engine's user, with the same volume. So it is there before the engine writes, outlives it, owns its files, pulls no
image, and what it does when it fails is the kubelet's to see. The engine does not start before it has answered once,
and its liveness is that of its loop.

It has no readiness probe: an engine whose tier grows is better than none, and ``beamline_kv_evictor_used_bytes`` tells.
Source: https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from manifests.config_maps import fixed_files
from manifests.kv_tier import has_unbounded_tier, kv_tier_environment, kv_tier_mount
from manifests.naming import ENGINE, content_name
from manifests.objects import KubernetesObject
from manifests.pod_security import confined
from stacks.resolve import StackSpec
from stacks.roles import Role

__all__ = [
    "EVICTOR_PORT",
    "EVICTOR_PORT_NAME",
    "Evicted",
    "evictor_container",
    "evictor_objects",
    "evictor_program",
    "evictor_volume",
    "evictors",
    "needs_evictor",
]

EVICTOR_PORT = 9402
EVICTOR_PORT_NAME = "kv-evictor"
_NAME = "kv-evictor"
_PACKAGE = "kv_evictor"
_WORK = "/opt/beamline"
"""Where Python looks for the package."""
_STALL_S = 120
_PROBE_PERIOD_S = 10
_START_PERIOD_S = 2
_RESOURCES = {
    "requests": {"cpu": "100m", "memory": "160Mi"},
    "limits": {"memory": "512Mi"},
}
"""What is above the process is the kernel's memory of the names it walked over, which gives way (docs/kv-tiers.md). No
CPU limit: a process that is stopped while it leases a file would hold up a reader."""


@dataclass(frozen=True)
class Evicted:
    """What is kept below a bound: the mount of the tier, allocated bytes below it, and free bytes of its disk.

    ``mount`` and ``environment`` are those of the engine's own container (``kv_tier_mount``, ``kv_tier_environment``),
    so that both see the same folder. High and low water, and what else bounds it, are the program's own.
    """

    image: str
    mount: dict[str, Any]
    environment: list[dict[str, Any]]
    capacity_bytes: int
    free_floor_bytes: int


def evictor_container(evicted: Evicted) -> dict[str, Any]:
    """The init container that keeps running; it goes before every other that writes to the tier."""
    arguments = {
        "root": evicted.mount["mountPath"],
        "capacity-bytes": evicted.capacity_bytes,
        "free-floor-bytes": evicted.free_floor_bytes,
        "stall-s": _STALL_S,
        "address": "$(POD_IP)",
        "port": EVICTOR_PORT,
    }
    address = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    asked = {"httpGet": {"path": "/healthz", "port": EVICTOR_PORT_NAME}, "timeoutSeconds": 5}
    return {
        "name": _NAME,
        "image": evicted.image,
        "restartPolicy": "Always",
        "command": ["python3", "-S", "-m", _PACKAGE],  # no site packages: the engine's take long to look through
        "args": [f"--{name}={value}" for name, value in arguments.items()],
        "workingDir": _WORK,
        "env": [address, *evicted.environment],
        "ports": [{"name": EVICTOR_PORT_NAME, "containerPort": EVICTOR_PORT, "protocol": "TCP"}],
        "startupProbe": {**asked, "periodSeconds": _START_PERIOD_S, "failureThreshold": 30},
        "livenessProbe": {**asked, "periodSeconds": _PROBE_PERIOD_S, "failureThreshold": 3},
        "resources": _RESOURCES,
        "securityContext": confined(),
        "volumeMounts": [evicted.mount, {"name": _NAME, "mountPath": f"{_WORK}/{_PACKAGE}", "readOnly": True}],
    }


def evictor_volume() -> dict[str, Any]:
    """The volume of its program."""
    return {"name": _NAME, "configMap": {"name": _program_name()}}


def needs_evictor(spec: StackSpec, role: Role) -> bool:
    """Whether pods of this role write to a tier that only the evictor bounds."""
    return role.tiered and has_unbounded_tier(spec)


def evictors(spec: StackSpec, role: Role) -> list[dict[str, Any]]:
    """Return the sidecar of a pod of this role, or nothing."""
    if not needs_evictor(spec, role):
        return []
    evicted = Evicted(
        image=str(spec.images["engine"]),
        mount=kv_tier_mount(spec),
        environment=kv_tier_environment(spec),
        capacity_bytes=spec.derived.ssd_tier_bytes_per_replica // spec.derived.nodes_per_replica,
        free_floor_bytes=spec.derived.tier_free_floor_bytes or 0,
    )
    return [evictor_container(evicted)]


def evictor_objects(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """Return its program, where some pod runs it."""
    return (evictor_program(spec),) if any(needs_evictor(spec, role) for role in spec.roles) else ()


def evictor_program(spec: StackSpec) -> KubernetesObject:
    """The program as a ConfigMap; another program is another ConfigMap, so that pods notice."""
    return fixed_files(spec, "kv-evictor-program", _modules(), called=_program_name(), component=ENGINE)


@cache
def _modules() -> dict[str, str]:
    found = {file.name: file for file in files(_PACKAGE).iterdir() if file.name.endswith(".py")}
    return {name: found[name].read_text(encoding="utf-8") for name in sorted(found)}


def _program_name() -> str:
    return content_name(_NAME, _modules())
