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


class Objects(list[Body]):
    """The bodies of one stack; may be changed freely."""

    def kind(self, kind: str) -> list[Body]:
        return [body for body in self if body["kind"] == kind]

    def one(self, kind: str, name: str) -> Body:
        (found,) = (body for body in self.kind(kind) if body["metadata"]["name"].startswith(name))
        return found

    def names(self, kind: str, namespace: str | None) -> set[str]:
        return {b["metadata"]["name"] for b in self.kind(kind) if b["metadata"].get("namespace") == namespace}

    def workloads(self) -> list[Body]:
        return [*self.kind("Deployment"), *self.kind("DaemonSet")]

    def pod(self, name: str) -> Body:
        """Pod spec of the workload of this name."""
        (found,) = (w["spec"]["template"]["spec"] for w in self.workloads() if w["metadata"]["name"] == name)
        return found

    def container(self, name: str) -> Body:
        """First container of the workload of this name."""
        return self.pod(name)["containers"][0]

    def containers(self) -> Iterator[tuple[str, Body, Body]]:
        """Workload's name, pod spec and container, init containers included."""
        for workload in self.workloads():
            pod = workload["spec"]["template"]["spec"]
            for container in [*pod.get("initContainers", []), *pod["containers"]]:
                yield workload["metadata"]["name"], pod, container


def objects_of(case: str) -> Objects:
    """Render one case; a copy for each call."""
    return Objects(copy.deepcopy(dict(item.body)) for item in render(spec_of(case)))


def flag(container: Body, name: str) -> Any:
    """Value of ``--name=value`` among a container's arguments, JSON decoded where it is; None when it is not there."""
    for argument in container["args"]:
        key, _, value = argument.partition("=")
        if key == f"--{name}":
            return json.loads(value) if value.startswith("{") else value
    return None
