"""What an object refers to by name exists in the same graph, with the key or port that is asked for."""

from __future__ import annotations

from collections.abc import Iterator

from beamline.engine.graph import Graph
from policies.objects import OPAQUE, RegisteredObject, entries, key_or_port, pod_templates, registered_objects, section
from policies.references import Reference, object_references, pod_references
from policies.rule import Finding, Rule

__all__ = ["RULES"]

_MADE_BY_KUBERNETES = (("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt"))
"""Objects that every namespace has."""
_SYSTEM_NAMESPACES = ("default", "kube-system", "kube-public", "gmp-public")
_CLUSTER_WIDE = ("ClusterRole",)

_NAMESPACE = "kubernetes:core/v1:Namespace"
_Key = tuple[str, str, str]
"""Kind, namespace (empty for cluster-wide kinds) and name."""
_Parts = set[str | int | None] | None
"""Keys of a ConfigMap or Secret, ports of a Service; None where there is nothing to ask for."""


def _key(kind: str, namespace: str, name: str) -> _Key:
    return kind, "" if kind in _CLUSTER_WIDE else namespace, name


def _parts(obj: RegisteredObject) -> _Parts:
    if obj.kind in ("ConfigMap", "Secret"):
        groups = [obj.at(group) for group in ("data", "stringData", "binaryData")]
        return None if OPAQUE in groups else {key for group in groups for key in section(group)}
    if obj.kind == "Service":
        return {key_or_port(port.get("port")) for port in entries(obj.at("spec", "ports"))}
    return None


def _made_by_controllers(obj: RegisteredObject) -> Iterator[_Key]:
    """What the controller of a custom resource makes for it, under a name that others use."""
    match obj.kind:
        case "ComputeDomain":
            name = section(obj.at("spec", "channel", "resourceClaimTemplate")).get("name")
            yield _key("ResourceClaimTemplate", obj.namespace, str(name))
        case "DynamoGraphDeployment":
            for component in entries(obj.at("spec", "components")):
                yield _key("Service", obj.namespace, f"{obj.name}-{str(component.get('name')).lower()}")
        case "LeaderWorkerSet":
            yield _key("Service", obj.namespace, obj.name)


def _existing(graph: Graph) -> dict[_Key, _Parts]:
    """Everything that will exist -> the parts it has. A SecretProviderClass has its Secrets made by a driver."""
    found: dict[_Key, _Parts] = {}
    for obj in registered_objects(graph):
        found[_key(obj.kind, obj.namespace, obj.name)] = _parts(obj)
        found |= dict.fromkeys(_made_by_controllers(obj))
        for synced in entries(obj.at("spec", "secretObjects")) if obj.kind == "SecretProviderClass" else []:
            keys = {key_or_port(entry.get("key")) for entry in entries(synced.get("data"))}
            found["Secret", obj.namespace, str(synced.get("secretName"))] = keys
    return found


def _missing(graph: Graph) -> Iterator[Finding]:
    existing = _existing(graph)
    references = [ref for template in pod_templates(graph) for ref in pod_references(template)]
    references += [ref for obj in registered_objects(graph) for ref in object_references(obj)]
    for ref in references:
        key = _key(ref.kind, ref.namespace, ref.name)
        if (ref.kind, ref.name) in _MADE_BY_KUBERNETES or ref.name == OPAQUE:
            continue
        if key not in existing:
            yield _no_object(ref, key, existing)
        elif ref.part not in (None, OPAQUE) and ref.part not in (existing[key] or {ref.part}):
            yield _no_part(ref, existing[key])


def _no_object(ref: Reference, key: _Key, existing: dict[_Key, _Parts]) -> Finding:
    where = f" in namespace {key[1]!r}" if key[1] else ""
    return Finding(
        path=ref.path,
        urn=ref.urn,
        value=ref.name,
        detail=f"there is no {ref.kind} {ref.name!r}{where}",
        allowed=", ".join(sorted(name for *place, name in existing if place == list(key[:2]))),
    )


def _no_part(ref: Reference, parts: _Parts) -> Finding:
    return Finding(
        path=ref.path,
        urn=ref.urn,
        value=ref.part,
        detail=f"{ref.kind} {ref.name!r} has no {'port' if ref.kind == 'Service' else 'key'} {ref.part!r}",
        allowed=", ".join(sorted(str(part) for part in parts or ())),
    )


def _namespace_missing(graph: Graph) -> Iterator[Finding]:
    objects = registered_objects(graph)
    made = {obj.name for obj in objects if obj.kind == "Namespace"}
    made |= {str(read.id) for read in graph.reads if read.type == _NAMESPACE}  # there already, and looked up
    for obj in objects:
        if obj.at("metadata", "namespace") and obj.namespace not in {*made, *_SYSTEM_NAMESPACES, OPAQUE}:
            yield Finding(
                path=f"{obj.path}.metadata.namespace",
                urn=obj.urn,
                value=obj.namespace,
                detail="nothing in this stack creates the namespace or looks it up",
                allowed=", ".join(sorted({*made, *_SYSTEM_NAMESPACES})),
            )


_SOURCE = "Kubernetes API server and kubelet behaviour; Gateway API, ReferenceGrant and BackendRef"

RULES = (
    Rule(
        id="reference-missing",
        why="the pod would stay in ContainerCreating, or the route would answer 500",
        remedy="correct the name, or add the object to the manifests",
        source=_SOURCE,
        find=_missing,
    ),
    Rule(
        id="namespace-missing",
        why="the API server refuses objects in a namespace that does not exist",
        remedy="create the namespace in the same stack or look it up, or correct the name",
        source=_SOURCE,
        find=_namespace_missing,
    ),
)
