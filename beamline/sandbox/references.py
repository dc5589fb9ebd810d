"""What a real kubelet would look for before it starts a container, and simulated ones do not.

kwok runs a pod whose ConfigMap or Secret does not exist; a kubelet would leave it in CreateContainerConfigError or
FailedMount. Without this check the sandbox would call such a pod ready.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from beamline.sandbox.kubernetes_api import KubernetesApi, Object
from stacks.problems import Problem, ordered

__all__ = ["missing_references"]

_KINDS = {
    "ConfigMap": "/api/v1/configmaps",
    "Secret": "/api/v1/secrets",
    "SecretProviderClass": "/apis/secrets-store.csi.x-k8s.io/v1/secretproviderclasses",
}


class _Reference(NamedTuple):
    kind: str
    name: str
    where: str


def missing_references(api: KubernetesApi) -> list[Problem]:
    """Return a warning for each object that a pod needs and the cluster does not have."""
    there = {
        (kind, item["metadata"]["namespace"], item["metadata"]["name"])
        for kind, path in _KINDS.items()
        for item in api.items(path)
    }
    found: list[Problem] = []
    for pod in api.items("/api/v1/pods"):
        namespace = pod["metadata"]["namespace"]
        owner = next((f"{o['kind']} {namespace}/{o['name']}" for o in pod["metadata"].get("ownerReferences", [])), "")
        found += [
            _missing(owner or f"Pod {namespace}/{pod['metadata']['name']}", reference)
            for reference in _references(pod["spec"])
            if (reference.kind, namespace, reference.name) not in there
        ]
    return ordered(found)


def _missing(owner: str, reference: _Reference) -> Problem:
    return Problem(
        rule="missing-reference",
        severity="warning",
        path=f"{owner}: {reference.where}",
        value=f"{reference.kind} {reference.name}",
        why="the namespace has no such object; a real kubelet would not start the container, a simulated one does",
        remedy=f"create the {reference.kind} with the stack, or mark the reference optional",
        source="https://kubernetes.io/docs/concepts/configuration/configmap/#restrictions",
    )


def _references(spec: Object) -> Iterator[_Reference]:
    for volume in spec.get("volumes", []):
        yield from _volume(volume)
    for container in [*spec.get("initContainers", []), *spec["containers"]]:
        where = f"container {container['name']}"
        for source in container.get("envFrom", []):
            yield from _environment(source.get("configMapRef"), source.get("secretRef"), where)
        for variable in container.get("env", []):
            value = variable.get("valueFrom") or {}
            yield from _environment(value.get("configMapKeyRef"), value.get("secretKeyRef"), where)


def _environment(config_map: Object | None, secret: Object | None, where: str) -> Iterator[_Reference]:
    for kind, reference in (("ConfigMap", config_map), ("Secret", secret)):
        if reference and not reference.get("optional"):
            yield _Reference(kind, reference["name"], where)


def _volume(volume: Object) -> Iterator[_Reference]:
    where = f"volume {volume['name']}"
    for source in [volume, *(volume.get("projected") or {}).get("sources", [])]:
        config_map, secret = source.get("configMap"), source.get("secret")
        if config_map and not config_map.get("optional"):
            yield _Reference("ConfigMap", config_map["name"], where)
        if secret and not secret.get("optional"):
            yield _Reference("Secret", secret.get("secretName") or secret["name"], where)
    provider_class = ((volume.get("csi") or {}).get("volumeAttributes") or {}).get("secretProviderClass")
    if provider_class:
        yield _Reference("SecretProviderClass", provider_class, where)
