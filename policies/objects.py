"""A graph seen as a cluster would see it: Kubernetes objects, and the pods their workloads will make."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from beamline.engine.graph import Graph
from beamline.engine.values import Secret, Unknown, Value

__all__ = [
    "OPAQUE",
    "PodTemplate",
    "RegisteredObject",
    "entries",
    "key_or_port",
    "matches",
    "plain",
    "pod_templates",
    "registered_objects",
    "section",
]

OPAQUE = "(not known in a plan)"
"""Stands for a value that is secret or exists only after an apply; judges must let it pass."""
_EACH = "[]"
"""In a path: every item of the list that stands there."""

_TEMPLATES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "CronJob": (("spec", "jobTemplate", "spec", "template"),),
    "DaemonSet": (("spec", "template"),),
    "Deployment": (("spec", "template"),),
    "DynamoGraphDeployment": (("spec", "components", _EACH, "podTemplate"),),
    "Job": (("spec", "template"),),
    "LeaderWorkerSet": (
        ("spec", "leaderWorkerTemplate", "leaderTemplate"),
        ("spec", "leaderWorkerTemplate", "workerTemplate"),
    ),
    "Pod": ((),),
    "ReplicaSet": (("spec", "template"),),
    "StatefulSet": (("spec", "template"),),
}
"""Kind of a workload -> where its pod templates are. A kind that is missing here is a kind without pods."""


def plain(value: Value) -> Any:
    """Return ``value`` as plain data, secrets and unknowns as ``OPAQUE``."""
    if isinstance(value, Secret | Unknown):
        return OPAQUE
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return value


def section(value: Any) -> Mapping[str, Any]:
    """Return ``value`` if it is a mapping, else an empty one: wrong shapes are the schemas' business, not a rule's."""
    return value if isinstance(value, Mapping) else {}


def entries(value: Any) -> list[Mapping[str, Any]]:
    """Return the mappings of a list, none when it is no list."""
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def key_or_port(value: Any) -> str | int | None:
    """Return ``value`` if it can name a key or a port, else None."""
    return value if isinstance(value, str | int) else None


@dataclass(frozen=True)
class RegisteredObject:
    """One object of the graph. ``provider`` is the URN of the provider that applies it, empty for the default one."""

    urn: str
    provider: str
    body: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """Its ``kind``."""
        return str(self.body.get("kind", ""))

    @property
    def name(self) -> str:
        """Its ``metadata.name``."""
        return str(self.at("metadata", "name") or "")

    @property
    def namespace(self) -> str:
        """Its ``metadata.namespace``; ``default`` as the API server would have it."""
        return str(self.at("metadata", "namespace") or "default")

    @property
    def path(self) -> str:
        """How findings name it."""
        return f"{self.kind}/{self.name}"

    def at(self, *path: str) -> Any:
        """Return what stands at ``path``, None where nothing does."""
        found: Any = self.body
        for key in path:
            found = found.get(key) if isinstance(found, Mapping) else None
        return found


@dataclass(frozen=True)
class PodTemplate:
    """The pods of one workload: what they are labelled and annotated, and what they run."""

    owner: RegisteredObject
    path: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: Mapping[str, Any]

    @property
    def namespace(self) -> str:
        """Where the pods live."""
        return self.owner.namespace

    def containers(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield path and body of every container, init containers included."""
        for group in ("initContainers", "containers"):
            for index, container in enumerate(entries(self.spec.get(group))):
                yield f"{self.path}.spec.{group}[{index}]", container

    def ports(self) -> set[int | str]:
        """Return the numbers and the names of all container ports."""
        declared = [port for _, container in self.containers() for port in entries(container.get("ports"))]
        found = [key_or_port(port.get(key)) for port in declared for key in ("containerPort", "name")]
        return {port for port in found if port is not None}


def registered_objects(graph: Graph, kinds: Collection[str] | None = None) -> list[RegisteredObject]:
    """Return the Kubernetes objects that a program wrote out, all or those of some kinds; charts stay closed."""
    return [
        RegisteredObject(resource.urn, resource.provider, plain(dict(resource.inputs)))
        for resource in graph.resources
        if resource.type.startswith("kubernetes:")
        and {"apiVersion", "kind"} <= set(resource.inputs)
        and (kinds is None or str(resource.inputs["kind"]) in kinds)
    ]


def pod_templates(graph: Graph) -> list[PodTemplate]:
    """Return the pod templates of every workload; a workload has one for each kind of its pods."""
    return [
        PodTemplate(obj, path, *_about(template), section(template.get("spec")))
        for obj in registered_objects(graph, _TEMPLATES)
        for place in _TEMPLATES.get(obj.kind, ())
        for path, template in _found(obj.body, place, obj.path)
    ]


def _about(template: Mapping[str, Any]) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Labels and annotations."""
    metadata = section(template.get("metadata"))
    return section(metadata.get("labels")), section(metadata.get("annotations"))


def _found(value: Any, place: tuple[str, ...], path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield path and body of every mapping at ``place`` below ``value``."""
    if not place:
        yield path, section(value)
    elif place[0] == _EACH:
        for index, item in enumerate(entries(value)):
            yield from _found(item, place[1:], f"{path}[{index}]")
    elif place[0] in section(value):
        yield from _found(section(value).get(place[0]), place[1:], f"{path}.{place[0]}")


def matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Tell whether a label selector (``matchLabels``, ``matchExpressions``) takes ``labels``."""
    wanted = section(selector.get("matchLabels"))
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        _holds(expression, labels) for expression in entries(selector.get("matchExpressions"))
    )


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = str(expression.get("key")), expression.get("values")
    values = values if isinstance(values, list) else []
    match expression.get("operator"):
        case "In":
            return key in labels and labels[key] in values
        case "NotIn":
            return key not in labels or labels[key] not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return False
