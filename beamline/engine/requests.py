"""From the SDK's registration requests to graph records.

Both drivers meet here: the same function reads the requests of the in-process engine and those in the real engine's
log. A request with an option that the graph has no place for is refused, so that nothing is ever lost quietly.
"""

from __future__ import annotations

from pulumi.runtime.proto import alias_pb2, resource_pb2

from beamline.engine.graph import Alias, Invoke, Read, Resource
from beamline.engine.values import from_struct

__all__ = ["invoke_from_request", "read_from_request", "resource_from_request"]

_RECORDED = {
    "type", "name", "parent", "object", "custom", "dependencies", "propertyDependencies", "provider", "providers",
    "protect", "ignoreChanges", "replaceOnChanges", "deleteBeforeReplace", "deleteBeforeReplaceDefined", "deletedWith",
    "retainOnDelete", "additionalSecretOutputs", "aliases", "customTimeouts", "importId", "version",
    "pluginDownloadURL",
}  # fmt: skip
# What the SDK says about itself or about source lines, not about the resource.
_ABOUT_THE_SDK = {
    "acceptSecrets", "acceptResources", "accepts_byte_string", "supportsPartialValues", "supportsResultReporting",
    "sourcePosition", "stackTrace", "parentStackTraceHandle", "aliasSpecs",
}  # fmt: skip


def resource_from_request(request: resource_pb2.RegisterResourceRequest, urn: str) -> Resource:
    """Turn a registration into a ``Resource``; raises ``NotImplementedError`` for options outside the graph."""
    _refuse_unrecorded(request)
    return Resource(
        urn=urn,
        type=request.type,
        name=request.name,
        parent=request.parent,
        inputs=from_struct(request.object),
        custom=request.custom,
        dependencies=tuple(sorted(request.dependencies)),
        property_dependencies={
            key: tuple(sorted(value.urns)) for key, value in sorted(request.propertyDependencies.items()) if value.urns
        },
        provider=_provider_urn(request.provider),
        providers={package: _provider_urn(reference) for package, reference in sorted(request.providers.items())},
        protect=request.protect if request.HasField("protect") else None,
        ignore_changes=tuple(request.ignoreChanges),
        replace_on_changes=tuple(request.replaceOnChanges),
        delete_before_replace=request.deleteBeforeReplace if request.deleteBeforeReplaceDefined else None,
        deleted_with=request.deletedWith,
        retain_on_delete=request.retainOnDelete if request.HasField("retainOnDelete") else None,
        additional_secret_outputs=tuple(request.additionalSecretOutputs),
        aliases=tuple(_alias(alias) for alias in request.aliases),
        custom_timeouts=_timeouts(request.customTimeouts),
        import_id=request.importId,
        version=request.version,
        plugin_download_url=request.pluginDownloadURL,
    )


def read_from_request(request: resource_pb2.ReadResourceRequest, urn: str) -> Read:
    """Turn a lookup of an existing resource into a ``Read``."""
    return Read(
        urn=urn,
        type=request.type,
        name=request.name,
        id=request.id,
        parent=request.parent,
        inputs=from_struct(request.properties),
        provider=_provider_urn(request.provider),
    )


def invoke_from_request(request: resource_pb2.ResourceInvokeRequest) -> Invoke:
    """Turn a data lookup into an ``Invoke``."""
    return Invoke(token=request.tok, args=from_struct(request.args), provider=_provider_urn(request.provider))


def _refuse_unrecorded(request: resource_pb2.RegisterResourceRequest) -> None:
    present = {descriptor.name for descriptor, value in request.ListFields() if _says_something(value)}
    unrecorded = sorted(present - _RECORDED - _ABOUT_THE_SDK)
    if unrecorded:
        raise NotImplementedError(
            f"{request.type} {request.name!r} uses {', '.join(unrecorded)}, which the in-process engine does not "
            "record; extend beamline.engine.graph.Resource before a component relies on it"
        )


def _says_something(value: object) -> bool:
    """Tell a set field from an empty message the SDK always attaches (its hooks binding)."""
    list_fields = getattr(value, "ListFields", None)
    return list_fields is None or bool(list_fields())


def _provider_urn(reference: str) -> str:
    """Drop the id from a provider reference ``<urn>::<id>``."""
    return reference.rpartition("::")[0]


def _alias(alias: alias_pb2.Alias) -> Alias:
    if alias.WhichOneof("alias") == "urn":
        return Alias(urn=alias.urn)
    spec = alias.spec
    return Alias(
        name=spec.name,
        type=spec.type,
        stack=spec.stack,
        project=spec.project,
        parent_urn=spec.parentUrn,
        no_parent=spec.noParent,
    )


def _timeouts(timeouts: resource_pb2.RegisterResourceRequest.CustomTimeouts) -> dict[str, str]:
    return {descriptor.name: str(value) for descriptor, value in timeouts.ListFields()}
