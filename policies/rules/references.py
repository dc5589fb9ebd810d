"""What an object refers to by name exists in the same graph, with the key or port that is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from beamline.engine.graph import Graph
from policies.objects import OPAQUE, PodTemplate, RegisteredObject, pod_templates, registered_objects
from policies.rule import Finding, Rule

__all__ = ["RULES"]

_MADE_BY_KUBERNETES = {
    ("ServiceAccount", "default"),
    ("ConfigMap", "kube-root-ca.crt"),
}
"""Objects that every namespace has."""
_SYSTEM_NAMESPACES = ("default", "kube-system", "kube-public", "gmp-public")
_BUILT_IN_ROLES = ("admin", "cluster-admin", "edit", "view")


@dataclass(frozen=True)
class _Reference:
    """One name in one object. ``part`` is the key or the port that has to be there too."""

    path: str
    urn: str
    kind: str
    namespace: str
    name: str
    part: str | int | None = None


def _pod_references(template: PodTemplate) -> Iterator[_Reference]:
    spec, urn, namespace = template.spec, template.owner.urn, template.namespace
    at = f"{template.path}.spec"
    if "serviceAccountName" in spec:
        yield _Reference(f"{at}.serviceAccountName", urn, "ServiceAccount", namespace, spec["serviceAccountName"])
    for index, entry in enumerate(spec.get("imagePullSecrets") or []):
        yield _Reference(f"{at}.imagePullSecrets[{index}]", urn, "Secret", namespace, entry.get("name", ""))
    for index, volume in enumerate(spec.get("volumes") or []):
        path = f"{at}.volumes[{index}]"
        for source in (volume, *((volume.get("projected") or {}).get("sources") or [])):
            yield from _volume_references(source, path, urn, namespace)
        if (volume.get("csi") or {}).get("driver", "").startswith("secrets-store"):
            name = (volume["csi"].get("volumeAttributes") or {}).get("secretProviderClass", "")
            yield _Reference(f"{path}.csi", urn, "SecretProviderClass", namespace, name)
    for path, container in template.containers():
        yield from _environment_references(container, path, urn, namespace)


def _volume_references(source: Mapping[str, Any], path: str, urn: str, namespace: str) -> Iterator[_Reference]:
    for key, kind, name_key in (("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName")):
        entry = source.get(key)
        if not entry or entry.get("optional"):
            continue
        name = entry.get(name_key) or entry.get("name", "")
        for part in [item.get("key") for item in entry.get("items") or []] or [None]:
            yield _Reference(f"{path}.{key}", urn, kind, namespace, name, part)


def _environment_references(container: Mapping[str, Any], path: str, urn: str, namespace: str) -> Iterator[_Reference]:
    for index, variable in enumerate(container.get("env") or []):
        source = variable.get("valueFrom") or {}
        for key, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
            entry = source.get(key)
            if entry and not entry.get("optional"):
                name, part = entry.get("name", ""), entry.get("key")
                yield _Reference(f"{path}.env[{index}].valueFrom.{key}", urn, kind, namespace, name, part)
    for index, source in enumerate(container.get("envFrom") or []):
        for key, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
            entry = source.get(key)
            if entry and not entry.get("optional"):
                yield _Reference(f"{path}.envFrom[{index}].{key}", urn, kind, namespace, entry.get("name", ""))


def _object_references(obj: RegisteredObject) -> Iterator[_Reference]:
    match obj.kind:
        case "RoleBinding" | "ClusterRoleBinding":
            yield from _binding_references(obj)
        case "InferencePool":
            picker = obj.at("spec", "endpointPickerRef")
            if picker:
                port = (picker.get("port") or {}).get("number")
                path = f"{obj.path}.spec.endpointPickerRef"
                yield _Reference(path, obj.urn, picker.get("kind", "Service"), obj.namespace, picker["name"], port)
        case "HTTPRoute":
            yield from _route_references(obj)
        case "GCPBackendPolicy" | "HealthCheckPolicy" | "GCPGatewayPolicy":
            target = obj.at("spec", "targetRef") or {}
            yield _Reference(
                f"{obj.path}.spec.targetRef", obj.urn, target.get("kind", ""), obj.namespace, target.get("name", "")
            )
        case "InferenceObjective" | "InferenceModelRewrite":
            pool = obj.at("spec", "poolRef") or {}
            yield _Reference(f"{obj.path}.spec.poolRef", obj.urn, "InferencePool", obj.namespace, pool.get("name", ""))


def _binding_references(obj: RegisteredObject) -> Iterator[_Reference]:
    role = obj.at("roleRef") or {}
    if role.get("name") not in _BUILT_IN_ROLES and not str(role.get("name", "")).startswith("system:"):
        yield _Reference(f"{obj.path}.roleRef", obj.urn, role.get("kind", ""), obj.namespace, role.get("name", ""))
    for index, subject in enumerate(obj.at("subjects") or []):
        if subject.get("kind") == "ServiceAccount":
            namespace = subject.get("namespace", obj.namespace)
            yield _Reference(f"{obj.path}.subjects[{index}]", obj.urn, "ServiceAccount", namespace, subject["name"])


def _route_references(obj: RegisteredObject) -> Iterator[_Reference]:
    for index, parent in enumerate(obj.at("spec", "parentRefs") or []):
        namespace, kind = parent.get("namespace", obj.namespace), parent.get("kind", "Gateway")
        yield _Reference(f"{obj.path}.spec.parentRefs[{index}]", obj.urn, kind, namespace, parent["name"])
    for number, rule in enumerate(obj.at("spec", "rules") or []):
        for index, backend in enumerate(rule.get("backendRefs") or []):
            kind, namespace = backend.get("kind", "Service"), backend.get("namespace", obj.namespace)
            part = backend.get("port") if kind == "Service" else None
            path = f"{obj.path}.spec.rules[{number}].backendRefs[{index}]"
            yield _Reference(path, obj.urn, kind, namespace, backend["name"], part)


_CLUSTER_WIDE = ("ClusterRole",)


def _parts(obj: RegisteredObject) -> set[str | int] | None:
    """Keys of a ConfigMap or Secret, ports of a Service; None where there is nothing to ask for."""
    if obj.kind in ("ConfigMap", "Secret"):
        sections = [obj.at(section) for section in ("data", "stringData", "binaryData")]
        return None if OPAQUE in sections else {key for section in sections if section for key in section}
    if obj.kind == "Service":
        return {port["port"] for port in obj.at("spec", "ports") or []}
    return None


def _existing(graph: Graph) -> dict[tuple[str, str, str], set[str | int] | None]:
    """Kind, namespace and name of everything that will exist -> the parts it has."""
    found: dict[tuple[str, str, str], set[str | int] | None] = {}
    for obj in registered_objects(graph):
        namespace = "" if obj.kind in _CLUSTER_WIDE else obj.namespace
        found[obj.kind, namespace, obj.name] = _parts(obj)
        for synced in obj.at("spec", "secretObjects") or [] if obj.kind == "SecretProviderClass" else []:
            keys = {entry["key"] for entry in synced.get("data") or []}
            found["Secret", namespace, synced["secretName"]] = keys
    return found


def _missing(graph: Graph) -> Iterator[Finding]:
    existing = _existing(graph)
    references = [ref for template in pod_templates(graph) for ref in _pod_references(template)]
    references += [ref for obj in registered_objects(graph) for ref in _object_references(obj)]
    for ref in references:
        namespace = "" if ref.kind in _CLUSTER_WIDE else ref.namespace
        if (ref.kind, ref.name) in _MADE_BY_KUBERNETES or ref.name == OPAQUE:
            continue
        if (ref.kind, namespace, ref.name) not in existing:
            known = sorted(name for kind, where, name in existing if (kind, where) == (ref.kind, namespace))
            yield Finding(
                path=ref.path,
                urn=ref.urn,
                value=ref.name,
                detail=f"there is no {ref.kind} {ref.name!r}" + (f" in namespace {namespace!r}" if namespace else ""),
                allowed=", ".join(known),
            )
            continue
        parts = existing[ref.kind, namespace, ref.name]
        if ref.part is not None and parts is not None and ref.part not in parts:
            yield Finding(
                path=ref.path,
                urn=ref.urn,
                value=ref.part,
                detail=f"{ref.kind} {ref.name!r} has no {'port' if ref.kind == 'Service' else 'key'} {ref.part!r}",
                allowed=", ".join(sorted(str(part) for part in parts)),
            )


def _namespace_missing(graph: Graph) -> Iterator[Finding]:
    objects = registered_objects(graph)
    made = {obj.name for obj in objects if obj.kind == "Namespace"}
    for obj in objects:
        if obj.at("metadata", "namespace") and obj.namespace not in made and obj.namespace not in _SYSTEM_NAMESPACES:
            yield Finding(
                path=f"{obj.path}.metadata.namespace",
                urn=obj.urn,
                value=obj.namespace,
                detail="nothing in this stack creates the namespace",
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
        remedy="create the namespace in the same stack, or correct the name",
        source=_SOURCE,
        find=_namespace_missing,
    ),
)
