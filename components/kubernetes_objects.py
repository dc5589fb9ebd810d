"""Registers rendered Kubernetes objects as Pulumi resources: the one way an object gets into the cluster.

The same plain object is rendered to YAML, checked against schemas and registered here. Kinds the SDK knows become its
typed resources; every other kind is a custom resource, whose fields go to the API server as they are written.

What is done on the way:

- Order: a namespace before what lives in it (charts too), a CustomResourceDefinition before objects of its kind, then
  what the object itself asks for, such as the chart that brings its kind. The rest is applied in parallel.
- Waiting: the timeouts bound it, ``await_ready`` false skips it (``pulumi.com/skipAwait``), ``wait_for`` becomes the
  provider's ``pulumi.com/waitFor`` annotation, which custom resources need, since it cannot know when they are done.
  A Service inside the cluster is done when it has an address: the pods behind it are waited for as their workload.
- Deleting: pods get their grace period before the deletion counts as failed. ``deleted_with`` is deliberately not used:
  load balancers and endpoint groups must be deleted through the API while the cluster lives, so nothing is won by
  leaving other objects to the cluster, and the engine would hand the option from a component to all its children.

Waiting: https://github.com/pulumi/pulumi-kubernetes/blob/master/CHANGELOG.md (4.18.0, pulumi.com/waitFor)
"""

import graphlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi

from components.helm_releases import ReleaseArgs, register_release
from components.sdk import arguments_class, kubernetes_type, resource_class

__all__ = ["CustomObject", "ObjectArgs", "register_objects"]

_WAIT_FOR = "pulumi.com/waitFor"
_SKIP_AWAIT = "pulumi.com/skipAwait"
_HAS_ADDRESS = "jsonpath={.spec.clusterIP}"
"""Instead of the provider's own wait, which sleeps ten seconds after every change of the endpoints, and yet lets pass a
Service that selects nothing (provider/pkg/await/service.go, 4.25)."""
_DELETE_MARGIN_S = 600
"""The provider's own wait for a deletion; a pod's grace period comes on top."""


class ObjectArgs(TypedDict):
    """One Kubernetes object and when it counts as done."""

    name: str
    """Stable name among the component's objects, part of its resource's name."""
    body: dict[str, Any]
    """The object as in a manifest: apiVersion, kind, metadata and the rest."""
    timeout_s: NotRequired[int]
    """Seconds it may take to be ready after it is created; left out, the provider's own ten minutes."""
    update_timeout_s: NotRequired[int]
    """Seconds it may take after a change; left out, as after creation."""
    await_ready: NotRequired[bool]
    """False: go on as soon as the API server has accepted it."""
    wait_for: NotRequired[list[str]]
    """What it has to reach: condition=Programmed, or jsonpath={.status.phase}=Ready."""
    alone: NotRequired[bool]
    """There is no room for two: when one of another name takes its place, the old one goes first."""
    after: NotRequired[list[str]]
    """Names of objects and Helm releases of the same component that come first."""


class CustomObject(pulumi.CustomResource):
    """An object of a kind that the SDK does not know, with the status the cluster reports for it."""

    status: pulumi.Output[Any]

    def __init__(self, name: str, body: Mapping[str, Any], opts: pulumi.ResourceOptions) -> None:
        # The SDK's own class has no status and no top-level fields besides spec; None makes status an output.
        super().__init__(kubernetes_type(body["apiVersion"], body["kind"]), name, {**body, "status": None}, opts)


def register_objects(
    parent: pulumi.ComponentResource,
    name: str,
    objects: Sequence[ObjectArgs],
    releases: Sequence[ReleaseArgs] = (),
) -> dict[str, pulumi.CustomResource]:
    """Register ``objects`` and ``releases`` as children ``{name}-{its name}`` of ``parent`` and return them by name.

    Raises ``ValueError`` for a name that is unknown, taken or before itself.
    """
    names = [item["name"] for item in (*objects, *releases)]
    if len(set(names)) != len(names):
        raise ValueError(f"two objects or releases of {name} have the same name: {sorted(names)}")
    objects_by_name = {item["name"]: item for item in objects}
    releases_by_name = {item["name"]: item for item in releases}
    before = {item["name"]: _first(item.get("after"), objects, item["body"]) for item in objects}
    before |= {item["name"]: _first(item.get("after"), objects, _in_namespace(item)) for item in releases}
    registered: dict[str, pulumi.CustomResource] = {}
    for item_name in graphlib.TopologicalSorter(before).static_order():
        if item_name not in before:
            raise ValueError(f"an object of {name} comes after {item_name!r}, which is none of its objects")
        first = [registered[other] for other in before[item_name]]
        if release := releases_by_name.get(item_name):
            opts = pulumi.ResourceOptions(parent=parent, depends_on=first)
            registered[item_name] = register_release(f"{name}-{item_name}", release, opts)
        else:
            item = objects_by_name[item_name]
            opts = pulumi.ResourceOptions(parent=parent, depends_on=first, custom_timeouts=_timeouts(item))
            if item.get("alone"):
                opts.delete_before_replace = True
            registered[item_name] = _register(f"{name}-{item_name}", item, opts)
    return registered


def _first(asked: Iterable[str] | None, objects: Iterable[ObjectArgs], body: Mapping[str, Any]) -> list[str]:
    return sorted({*(asked or ()), *(other["name"] for other in objects if _carries(other["body"], body))})


def _in_namespace(release: ReleaseArgs) -> dict[str, Any]:
    """What counts of a release for the order: an object of no kind in its namespace."""
    return {"apiVersion": "", "kind": "", "metadata": {"namespace": release["namespace"]}}


def _carries(body: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Tell whether ``body`` is the namespace ``other`` lives in, or defines its kind."""
    if body["kind"] == "Namespace":
        return bool(body["metadata"]["name"] == other["metadata"].get("namespace"))
    if body["kind"] == "CustomResourceDefinition":
        spec = body["spec"]
        return bool(other["kind"] == spec["names"]["kind"] and other["apiVersion"].partition("/")[0] == spec["group"])
    return False


def _register(name: str, item: ObjectArgs, opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
    body = _with_wait(item)
    known = resource_class(kubernetes_type(body["apiVersion"], body["kind"]))
    if known is None:
        return CustomObject(name, body, opts)
    resource: pulumi.CustomResource = known(name, opts=opts, **_python_arguments(known, body))
    return resource


def _python_arguments(known: Any, body: Mapping[str, Any]) -> dict[str, Any]:
    """Only the top level has Python's names; below it the SDK takes the manifest's own."""
    names = {pulumi_name: python_name for python_name, pulumi_name in _names(arguments_class(known)).items()}
    unknown = sorted(set(body) - set(names))
    if unknown:
        raise ValueError(f"{body['kind']} {body['metadata']['name']!r} has no field {', '.join(unknown)}")
    return {names[key]: value for key, value in body.items()}


def _names(arguments: Any) -> dict[str, str]:
    return pulumi._types.input_type_py_to_pulumi_names(arguments)  # noqa: SLF001 - the SDK offers no public way


def _with_wait(item: ObjectArgs) -> dict[str, Any]:
    """Return the object as it is applied: with the annotations that tell the provider what to wait for."""
    conditions = item.get("wait_for") or ([_HAS_ADDRESS] if _is_inside_service(item["body"]) else [])
    notes = {}
    if not item.get("await_ready", True):
        notes[_SKIP_AWAIT] = "true"
    elif conditions:
        notes[_WAIT_FOR] = conditions[0] if len(conditions) == 1 else json.dumps(conditions)
    if not notes:
        return item["body"]
    metadata = item["body"]["metadata"]
    return {**item["body"], "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), **notes}}}


def _is_inside_service(body: Mapping[str, Any]) -> bool:
    if (body["apiVersion"], body["kind"]) != ("v1", "Service"):
        return False
    return bool(body["spec"].get("type", "ClusterIP") == "ClusterIP")


def _timeouts(item: ObjectArgs) -> pulumi.CustomTimeouts | None:
    create_s = item.get("timeout_s")
    update_s = item.get("update_timeout_s", create_s)
    grace_s = _grace_period_s(item["body"])
    if not (create_s or update_s or grace_s):
        return None
    return pulumi.CustomTimeouts(
        create=f"{create_s}s" if create_s else None,
        update=f"{update_s}s" if update_s else None,
        delete=f"{grace_s + _DELETE_MARGIN_S}s" if grace_s else None,
    )


def _grace_period_s(value: Any) -> int:
    """The longest any pod of an object may take to end, wherever its kind keeps pod templates."""
    if isinstance(value, Mapping):
        own = value.get("terminationGracePeriodSeconds")
        return max([own if isinstance(own, int) else 0, *map(_grace_period_s, value.values())])
    return max(map(_grace_period_s, value), default=0) if isinstance(value, list) else 0
