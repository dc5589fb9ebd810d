"""The in-memory half of an engine: it answers the SDK's calls as a first preview would, and remembers them.

The SDK takes Python objects in place of gRPC stubs. A first preview knows nothing but what the program says: inputs
come back as outputs, everything else, ids included, is unknown. Behind a provider whose own configuration is unknown,
such as Kubernetes before the cluster exists, nothing at all is known. The real engine answers the same, as long as no
provider computes outputs ahead (tests/engine/test_two_drivers.py compares the two).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from google.protobuf import empty_pb2
from pulumi.runtime.proto import engine_pb2, resource_pb2

from beamline.engine.graph import Graph, Invoke, Log, Read, Resource, Severity
from beamline.engine.requests import invoke_from_request, read_from_request, resource_from_request
from beamline.engine.values import Value, from_struct, has_unknown, to_struct
from stacks.urns import STACK_TYPE, make_urn

__all__ = ["InMemoryEngine", "InMemoryMonitor", "Recall"]

Recall = Callable[[Resource], "tuple[str, Mapping[str, Value]] | None"]
"""Gives the id and the outputs that an earlier update left of a resource; None for one that would be made anew."""

_EMPTY = empty_pb2.Empty()
_SEVERITIES: Mapping[int, Severity] = {
    engine_pb2.INFO: "info",
    engine_pb2.WARNING: "warning",
    engine_pb2.ERROR: "error",
}


class InMemoryEngine:
    """Takes the program's log messages; debug messages are the SDK's own and are dropped."""

    def __init__(self) -> None:
        self.logs: list[Log] = []

    def Log(self, request: engine_pb2.LogRequest) -> empty_pb2.Empty:  # noqa: N802 - the protocol's name
        """Keep one message."""
        severity = _SEVERITIES.get(request.severity)
        if severity is not None:
            self.logs.append(Log(severity, request.message, request.urn))
        return _EMPTY


class InMemoryMonitor:
    """Answers resource calls of one run. Calls it has no method for fail loudly in the SDK."""

    def __init__(self, project: str, stack: str, recall: Recall | None = None) -> None:
        self._project = project
        self._stack = stack
        self._recall = recall
        self._resources: dict[str, Resource] = {}
        self._reads: dict[str, Read] = {}
        self._invokes: list[Invoke] = []

    def graph(self, logs: tuple[Log, ...]) -> Graph:
        """Return what was registered, sorted by URN."""
        outputs: Mapping[str, Value] = {}
        for resource in self._resources.values():
            if resource.type == STACK_TYPE:
                outputs = resource.registered_outputs or {}
        return Graph(
            resources=tuple(self._resources[urn] for urn in sorted(self._resources)),
            outputs=outputs,
            reads=tuple(self._reads[urn] for urn in sorted(self._reads)),
            invokes=tuple(self._invokes),
            logs=logs,
        )

    def GetDeploymentInfo(self, _: empty_pb2.Empty) -> resource_pb2.DeploymentInfo:  # noqa: N802
        """Announce every feature the SDK knows: what is not recorded is refused when it is used, by name."""
        return resource_pb2.DeploymentInfo(
            project=self._project,
            stack=self._stack,
            dryRun=True,
            supportedFeatures=resource_pb2.ResourceMonitorFeature.values(),
        )

    def RegisterResource(  # noqa: N802
        self, request: resource_pb2.RegisterResourceRequest
    ) -> resource_pb2.RegisterResourceResponse:
        """Record a resource; a custom resource's inputs come back as outputs, its id stays unknown."""
        urn = self._new_urn(request)
        resource = self._resources[urn] = resource_from_request(request, urn)
        recalled = self._recall(resource) if self._recall and resource.custom else None
        if recalled is not None:
            resource_id, outputs = recalled
            known = to_struct(_laid_over(outputs, resource.inputs))
            return resource_pb2.RegisterResourceResponse(urn=urn, id=resource_id, object=known)
        knows_outputs = resource.custom and not self._is_unconfigured(resource.provider)
        return resource_pb2.RegisterResourceResponse(urn=urn, object=request.object if knows_outputs else None)

    def RegisterResourceOutputs(  # noqa: N802
        self, request: resource_pb2.RegisterResourceOutputsRequest
    ) -> empty_pb2.Empty:
        """Remember what a component or the stack gives out."""
        resource = self._resources[request.urn]
        self._resources[request.urn] = dataclasses.replace(resource, registered_outputs=from_struct(request.outputs))
        return _EMPTY

    def ReadResource(self, request: resource_pb2.ReadResourceRequest) -> resource_pb2.ReadResourceResponse:  # noqa: N802
        """Record a lookup by id; everything but the id is unknown."""
        urn = self._new_urn(request)
        self._reads[urn] = read_from_request(request, urn)
        return resource_pb2.ReadResourceResponse(urn=urn, id=request.id)

    def Invoke(self, request: resource_pb2.ResourceInvokeRequest) -> resource_pb2.ResourceInvokeResponse:  # noqa: N802
        """Record a data lookup and answer that its result is unknown."""
        self._invokes.append(invoke_from_request(request))
        return resource_pb2.ResourceInvokeResponse(unknown=True)

    def SignalAndWaitForShutdown(self, _: empty_pb2.Empty) -> empty_pb2.Empty:  # noqa: N802
        """Let the program end: nothing is left to do for a plan."""
        return _EMPTY

    def _new_urn(self, request: resource_pb2.RegisterResourceRequest | resource_pb2.ReadResourceRequest) -> str:
        urn = make_urn(self._stack, self._project, request.type, request.name, request.parent)
        if urn in self._resources or urn in self._reads:
            raise ValueError(f"Duplicate resource URN '{urn}'; try giving it a unique name")
        return urn

    def _is_unconfigured(self, provider: str) -> bool:
        return provider in self._resources and has_unknown(dict(self._resources[provider].inputs))


def _laid_over(recorded: Mapping[str, Value], asked: Mapping[str, Value]) -> dict[str, Value]:
    """What a change in place leaves: the inputs asked for, and within their blocks what the cloud had filled in."""
    laid = dict(recorded)
    for key, value in asked.items():
        below = laid.get(key)
        laid[key] = _laid_over(below, value) if isinstance(value, Mapping) and isinstance(below, Mapping) else value
    return laid
