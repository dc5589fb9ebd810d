"""Rendered objects as the invariants look at them: by kind, and workloads by their pods."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from manifests import render

from .cases import spec_of

__all__ = ["Body", "Objects", "flag", "objects_of"]

Body = dict[str, Any]
COMPONENT = "app.kubernetes.io/component"


class Objects(list[Body]):
    """The bodies of one stack; may be changed freely.

    ``there_before`` are namespaces the stack does not make; ``capabilities`` what its transport lets an engine add.
    """

    there_before: frozenset[str] = frozenset({"kube-system"})
    capabilities: frozenset[str] = frozenset()

    def kind(self, kind: str) -> list[Body]:
        return [body for body in self if body["kind"] == kind]

    def one(self, kind: str, name: str) -> Body:
        (found,) = (body for body in self.kind(kind) if body["metadata"]["name"].startswith(name))
        return found

    def names(self, kind: str, namespace: str | None) -> set[str]:
        return {b["metadata"]["name"] for b in self.kind(kind) if b["metadata"].get("namespace") == namespace}

    def workloads(self) -> list[Body]:
        """Everything with a pod template at ``spec.template``; a group's leaders and workers are two of them."""
        groups = [pods for body in self.kind("LeaderWorkerSet") for pods in _of_group(body)]
        return [*self.kind("Deployment"), *self.kind("DaemonSet"), *groups]

    def pod(self, name: str) -> Body:
        """Pod spec of the workload of this name."""
        (found,) = (w["spec"]["template"]["spec"] for w in self.workloads() if w["metadata"]["name"] == name)
        return found

    def container(self, name: str) -> Body:
        """First container of the workload of this name."""
        return self.pod(name)["containers"][0]

    def engine_names(self, *, that_serve: bool = False) -> list[str]:
        """Workloads that run ranks: engines of every role, and the workers of their groups."""
        components = ("engine",) if that_serve else ("engine", "engine-worker")
        return [
            w["metadata"]["name"]
            for w in self.workloads()
            if w["spec"]["template"]["metadata"]["labels"].get(COMPONENT) in components
        ]

    def proxy(self, name: str) -> Body | None:
        """What stands before the engine of this workload, if anything does."""
        before = self.pod(name).get("initContainers", [])
        return next((container for container in before if container["name"] == "routing-proxy"), None)

    def engines(self) -> list[Body]:
        """Their containers."""
        return [self.container(name) for name in self.engine_names()]

    def containers(self, *workloads: Body) -> Iterator[tuple[str, Body, Body]]:
        """Workload's name, pod spec and container, init containers included; of all workloads or of these."""
        for workload in workloads or self.workloads():
            pod = workload["spec"]["template"]["spec"]
            for container in [*pod.get("initContainers", []), *pod["containers"]]:
                yield workload["metadata"]["name"], pod, container


def _of_group(body: Body) -> Iterator[Body]:
    """Leaders and workers, as ``engine`` and ``engine-worker``: the set's name without its size.

    The templates are the set's, not copies.
    """
    template = body["spec"]["leaderWorkerTemplate"]
    name = body["metadata"]["name"].partition("-nodes")[0]
    for pods, called in (("leaderTemplate", name), ("workerTemplate", f"{name}-worker")):
        metadata = {**body["metadata"], "name": called}
        yield {"kind": body["kind"], "metadata": metadata, "spec": {"template": template[pods]}}


def objects_of(case: str) -> Objects:
    """Render one case; a copy for each call."""
    spec = spec_of(case)
    objects = Objects(copy.deepcopy(dict(item.body)) for item in render(spec))
    if spec.preset.serving.existing_namespace:
        objects.there_before |= {spec.preset.serving.namespace}
    if spec.rows.transport:
        objects.capabilities = frozenset(spec.rows.transport.capabilities)
    return objects


def flag(container: Body, name: str) -> Any:
    """Value of ``--name=value`` among a container's arguments, JSON decoded where it is; None when it is not there."""
    for argument in container["args"]:
        key, _, value = argument.partition("=")
        if key == f"--{name}":
            return json.loads(value) if value.startswith("{") else value
    return None
