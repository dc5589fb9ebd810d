"""Which Kubernetes objects both sides of the comparison make, and what kubectl has to wait for.

Not among them are the releases of Helm charts, for kubectl cannot apply those, and what a release depends on, for that
cannot be taken away under it: they stay in the cluster while both sides are measured.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from manifests import KubernetesObject

__all__ = ["Identity", "identity", "is_definition", "split_after_definitions", "timed_objects", "wait_commands"]

Identity = tuple[str, str, str, str]
"""apiVersion, kind, namespace ("" outside of one), name."""

_RELEASE = "kubernetes:helm.sh/"
_ROLLED_OUT = ("Deployment", "DaemonSet", "StatefulSet")
_CONDITIONS = {
    "CustomResourceDefinition": "condition=Established",
    "Job": "condition=Complete",
    "PersistentVolumeClaim": "jsonpath={.status.phase}=Bound",
    "Pod": "condition=Ready",
}
"""What the Kubernetes provider waits for by itself, by kind; workloads apart. For a Service the stack waits no longer
than until it has an address, which it has when it is applied.

https://www.pulumi.com/registry/packages/kubernetes/ ("Await logic")
"""
_TIMEOUT = "--timeout=600s"


def identity(body: Mapping[str, Any]) -> Identity:
    """Return what tells an object from all others."""
    metadata = body["metadata"]
    return body["apiVersion"], body["kind"], metadata.get("namespace") or "", metadata["name"]


def timed_objects(state: Sequence[Mapping[str, Any]]) -> dict[str, Identity]:
    """Return the objects to time by URN, out of the engine's state: each resource after those it depends on."""
    kept: set[str] = set()
    for resource in reversed(state):
        if resource["type"].startswith(_RELEASE) or resource["urn"] in kept:
            kept.update([*(resource.get("dependencies") or ()), resource.get("parent", "")])
    return {
        resource["urn"]: identity(resource["inputs"])
        for resource in state
        if resource["type"].startswith("kubernetes:")
        and not resource["type"].startswith(_RELEASE)
        and resource["urn"] not in kept
    }


def split_after_definitions(objects: Sequence[KubernetesObject]) -> list[list[KubernetesObject]]:
    """Split objects behind the last CustomResourceDefinition: kubectl looks up all kinds before it applies anything."""
    last = max((i for i, item in enumerate(objects) if is_definition(item)), default=-1)
    return [part for part in (list(objects[: last + 1]), list(objects[last + 1 :])) if part]


def is_definition(item: KubernetesObject) -> bool:
    """Tell whether an object brings a kind, which has to be served before objects of it are applied."""
    return bool(item.body["kind"] == "CustomResourceDefinition")


def wait_commands(objects: Iterable[KubernetesObject]) -> list[list[str]]:
    """Return the kubectl commands that wait for what ``pulumi up`` waits for; they may run side by side."""
    commands = []
    together: dict[tuple[str, str], list[str]] = defaultdict(list)
    for item in objects:
        _, kind, namespace, _ = identity(item.body)
        resource = _resource(item.body)
        if not item.await_ready:
            continue
        if item.wait_for:
            for condition in item.wait_for:
                together[condition, namespace].append(resource)
        elif kind in _ROLLED_OUT:
            commands.append(["kubectl", "rollout", "status", resource, *_in(namespace), _TIMEOUT])
        elif kind in _CONDITIONS:
            together[_CONDITIONS[kind], namespace].append(resource)
    for (condition, namespace), resources in together.items():
        commands.append(["kubectl", "wait", f"--for={condition}", *resources, *_in(namespace), _TIMEOUT])
    return commands


def _resource(body: Mapping[str, Any]) -> str:
    """Return kind.version.group/name, which means one kind whatever else the cluster serves."""
    group, _, version = body["apiVersion"].rpartition("/")
    kind = f"{body['kind']}.{version}.{group}" if group else body["kind"]
    return f"{kind}/{body['metadata']['name']}"


def _in(namespace: str) -> list[str]:
    return ["--namespace", namespace] if namespace else []
