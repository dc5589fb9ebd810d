"""Names by which objects refer to each other, read from where Kubernetes and Gateway API keep them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from policies.objects import PodTemplate, RegisteredObject, entries, key_or_port, section

__all__ = ["Reference", "object_references", "pod_references"]

_BUILT_IN_ROLES = ("admin", "cluster-admin", "edit", "view")
_POLICIES = ("GCPBackendPolicy", "GCPGatewayPolicy", "HealthCheckPolicy")


@dataclass(frozen=True)
class Reference:
    """One name in one object. ``part`` is the key or the port that has to be there too."""

    path: str
    urn: str
    kind: str
    namespace: str
    name: str
    part: str | int | None = None


def pod_references(template: PodTemplate) -> Iterator[Reference]:
    """Yield what the pods of a workload need: account, Secrets, ConfigMaps and their keys, volume and device claims."""
    spec, urn, namespace, at = template.spec, template.owner.urn, template.namespace, f"{template.path}.spec"
    if "serviceAccountName" in spec:
        name = str(spec["serviceAccountName"])
        yield Reference(f"{at}.serviceAccountName", urn, "ServiceAccount", namespace, name)
    for index, entry in enumerate(entries(spec.get("imagePullSecrets"))):
        yield Reference(f"{at}.imagePullSecrets[{index}]", urn, "Secret", namespace, str(entry.get("name")))
    for index, volume in enumerate(entries(spec.get("volumes"))):
        path = f"{at}.volumes[{index}]"
        for source in (volume, *entries(section(volume.get("projected")).get("sources"))):
            yield from _in_volume(source, path, urn, namespace)
        csi = section(volume.get("csi"))
        if str(csi.get("driver")).startswith("secrets-store"):
            name = str(section(csi.get("volumeAttributes")).get("secretProviderClass"))
            yield Reference(f"{path}.csi", urn, "SecretProviderClass", namespace, name)
    for index, entry in enumerate(entries(spec.get("resourceClaims"))):
        for key, kind in (
            ("resourceClaimTemplateName", "ResourceClaimTemplate"),
            ("resourceClaimName", "ResourceClaim"),
        ):
            if key in entry:
                yield Reference(f"{at}.resourceClaims[{index}].{key}", urn, kind, namespace, str(entry[key]))
    for path, container in template.containers():
        yield from _in_environment(container, path, urn, namespace)


def _in_volume(source: Mapping[str, Any], path: str, urn: str, namespace: str) -> Iterator[Reference]:
    claim = section(source.get("persistentVolumeClaim"))
    if claim:
        path_of_claim, name = f"{path}.persistentVolumeClaim", str(claim.get("claimName"))
        yield Reference(path_of_claim, urn, "PersistentVolumeClaim", namespace, name)
    for key, kind, name_key in (("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName")):
        entry = section(source.get(key))
        if not entry or entry.get("optional"):
            continue
        name = str(entry.get(name_key) or entry.get("name"))
        for part in [key_or_port(item.get("key")) for item in entries(entry.get("items"))] or [None]:
            yield Reference(f"{path}.{key}", urn, kind, namespace, name, part)


def _in_environment(container: Mapping[str, Any], path: str, urn: str, namespace: str) -> Iterator[Reference]:
    for index, variable in enumerate(entries(container.get("env"))):
        for key, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
            entry = section(section(variable.get("valueFrom")).get(key))
            if entry and not entry.get("optional"):
                at, name = f"{path}.env[{index}].valueFrom.{key}", str(entry.get("name"))
                yield Reference(at, urn, kind, namespace, name, key_or_port(entry.get("key")))
    for index, source in enumerate(entries(container.get("envFrom"))):
        for key, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
            entry = section(source.get(key))
            if entry and not entry.get("optional"):
                yield Reference(f"{path}.envFrom[{index}].{key}", urn, kind, namespace, str(entry.get("name")))


def object_references(obj: RegisteredObject) -> Iterator[Reference]:
    """Yield what an object that is no workload refers to."""
    if obj.kind in ("RoleBinding", "ClusterRoleBinding"):
        yield from _in_binding(obj)
    elif obj.kind == "HTTPRoute":
        yield from _in_route(obj)
    elif obj.kind == "InferencePool":
        picker = section(obj.at("spec", "endpointPickerRef"))
        if picker:
            path, port = f"{obj.path}.spec.endpointPickerRef", key_or_port(section(picker.get("port")).get("number"))
            kind = str(picker.get("kind", "Service"))
            yield Reference(path, obj.urn, kind, obj.namespace, str(picker.get("name")), port)
    elif obj.kind in _POLICIES:
        target = section(obj.at("spec", "targetRef"))
        path, kind = f"{obj.path}.spec.targetRef", str(target.get("kind"))
        yield Reference(path, obj.urn, kind, obj.namespace, str(target.get("name")))
    elif obj.kind in ("InferenceObjective", "InferenceModelRewrite"):
        name = str(section(obj.at("spec", "poolRef")).get("name"))
        yield Reference(f"{obj.path}.spec.poolRef", obj.urn, "InferencePool", obj.namespace, name)


def _in_binding(obj: RegisteredObject) -> Iterator[Reference]:
    role = section(obj.at("roleRef"))
    name = str(role.get("name"))
    if name not in _BUILT_IN_ROLES and not name.startswith("system:"):
        yield Reference(f"{obj.path}.roleRef", obj.urn, str(role.get("kind")), obj.namespace, name)
    for index, subject in enumerate(entries(obj.at("subjects"))):
        if subject.get("kind") == "ServiceAccount":
            path, namespace = f"{obj.path}.subjects[{index}]", str(subject.get("namespace", obj.namespace))
            yield Reference(path, obj.urn, "ServiceAccount", namespace, str(subject.get("name")))


def _in_route(obj: RegisteredObject) -> Iterator[Reference]:
    for index, parent in enumerate(entries(obj.at("spec", "parentRefs"))):
        path, kind = f"{obj.path}.spec.parentRefs[{index}]", str(parent.get("kind", "Gateway"))
        yield Reference(path, obj.urn, kind, str(parent.get("namespace", obj.namespace)), str(parent.get("name")))
    for number, rule in enumerate(entries(obj.at("spec", "rules"))):
        for index, backend in enumerate(entries(rule.get("backendRefs"))):
            kind, namespace = str(backend.get("kind", "Service")), str(backend.get("namespace", obj.namespace))
            path = f"{obj.path}.spec.rules[{number}].backendRefs[{index}]"
            part = key_or_port(backend.get("port")) if kind == "Service" else None
            yield Reference(path, obj.urn, kind, namespace, str(backend.get("name")), part)
