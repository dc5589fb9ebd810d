"""The simulated cloud as a Pulumi resource provider: the plugin protocol in, operations out.

The protocol's messages are answered directly and not through the SDK's ``Provider`` class: that class hides the
recorded inputs that a comparison needs, cannot report a resource that exists but is not well, and turns every refusal
into a traceback, which users must never see.
"""

import logging
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import grpc
from google.protobuf import any_pb2, empty_pb2
from pulumi.runtime.proto import ResourceProviderServicer, plugin_pb2, provider_pb2, status_pb2

from beamline.sandbox.cloud.changes import changes
from beamline.sandbox.cloud.errors import CloudError, CreatedButFailedError
from beamline.sandbox.cloud.functions import call_function
from beamline.sandbox.cloud.kinds import KINDS
from beamline.sandbox.cloud.ledger import Record
from beamline.sandbox.cloud.names import hashed
from beamline.sandbox.cloud.operations import Operations, preview_outputs
from beamline.sandbox.cloud.schema import Failure, input_failures
from beamline.sandbox.cloud.values import UNKNOWN, from_struct, to_struct

__all__ = ["VERSION", "SimulatedGoogleCloud", "check_inputs"]

VERSION = "10.2.0"
"""The version of pulumi-gcp whose resources are simulated."""

_LOG = logging.getLogger(__name__)
_PREFIX = "simulated Google Cloud: "
_UNKNOWN_TYPE = (
    "the simulated Google Cloud does not know the resource type {token}. It simulates what a stack of this kit uses: "
    "{known}. Nothing was created; apply the stack to a real project to use this type"
)

_Answer = TypeVar("_Answer")


class SimulatedGoogleCloud(ResourceProviderServicer):
    """Answers the engine. One instance serves one Pulumi command."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self._simulation = operations.simulation

    def GetPluginInfo(self, request: Any, context: Any) -> Any:  # noqa: ARG002, N802 - protocol
        """Say which provider this is."""
        return plugin_pb2.PluginInfo(version=VERSION)

    def Handshake(self, request: Any, context: Any) -> Any:  # noqa: ARG002, N802 - protocol
        """Say that nothing beyond the basic protocol is spoken: the engine keeps track of secrets itself."""
        return provider_pb2.ProviderHandshakeResponse()

    def GetSchema(self, request: Any, context: Any) -> Any:  # noqa: ARG002, N802 - protocol
        """Give the bare minimum: programs bring pulumi_gcp, nobody generates an SDK from a simulation."""
        return provider_pb2.GetSchemaResponse(schema=f'{{"name": "gcp", "version": "{VERSION}"}}')

    def CheckConfig(self, request: Any, context: Any) -> Any:  # noqa: ARG002, N802 - protocol
        """Take the provider's own configuration as it is."""
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: Any, context: Any) -> Any:  # noqa: ARG002, N802 - protocol
        """A new default project or region never replaces resources by itself."""
        same = request.olds == request.news
        diff = provider_pb2.DiffResponse
        return diff(changes=diff.DIFF_NONE if same else diff.DIFF_SOME)

    def Configure(self, request: Any, context: Any) -> Any:  # noqa: ARG002, N802 - protocol
        """Take the defaults for project, region and zone, and go on with what was left unfinished."""
        settings = {key.rpartition(":")[2]: value for key, value in request.variables.items()}
        settings |= {key: value for key, value in from_struct(request.args).items() if isinstance(value, str)}
        for key in ("project", "region", "zone"):
            value = settings.get(key, "")
            if value and value != UNKNOWN:
                setattr(self._simulation, key, value)
        threading.Thread(target=self._operations.resume, daemon=True).start()
        return provider_pb2.ConfigureResponse(acceptSecrets=False, supportsPreview=True)

    def Invoke(self, request: Any, context: Any) -> Any:  # noqa: N802 - protocol
        """Answer the few lookups that make sense without a cloud."""

        def looked_up() -> Any:
            found = call_function(request.tok, from_struct(request.args), self._simulation)
            answer = provider_pb2.InvokeResponse()
            getattr(answer, "return").CopyFrom(to_struct(found))  # the field's name is a keyword
            return answer

        return _answered(context, looked_up)

    def Check(self, request: Any, context: Any) -> Any:  # noqa: N802 - protocol
        """Judge inputs by themselves."""

        def answer() -> Any:
            token, name = _token(request.urn), request.urn.rpartition("::")[2]
            inputs = from_struct(request.news)
            if token in KINDS and KINDS[token].named and "name" not in inputs:
                before = from_struct(request.olds).get("name")
                inputs["name"] = before or f"{name.lower()}-{hashed(request.urn + request.randomSeed.hex(), 7)}"
            failures = [
                provider_pb2.CheckFailure(property=failure.path, reason=_PREFIX + failure.reason)
                for failure in check_inputs(token, inputs, self._operations)
            ]
            return provider_pb2.CheckResponse(inputs=to_struct(inputs), failures=failures)

        return _answered(context, answer)

    def Diff(self, request: Any, context: Any) -> Any:  # noqa: N802 - protocol
        """Compare the inputs recorded at the last change with those asked for now."""

        def answer() -> Any:
            old = from_struct(request.old_inputs) or from_struct(request.olds)
            found = changes(_token(request.urn), old, from_struct(request.news))
            kinds = provider_pb2.PropertyDiff
            detail = {}
            for paths, plain, replacing in (
                (found.added, kinds.ADD, kinds.ADD_REPLACE),
                (found.removed, kinds.DELETE, kinds.DELETE_REPLACE),
                (found.changed, kinds.UPDATE, kinds.UPDATE_REPLACE),
            ):
                for path in paths:
                    kind = replacing if path in found.replaces else plain
                    detail[path] = provider_pb2.PropertyDiff(kind=kind, inputDiff=True)
            return provider_pb2.DiffResponse(
                changes=provider_pb2.DiffResponse.DIFF_SOME if found else provider_pb2.DiffResponse.DIFF_NONE,
                replaces=sorted({path.partition(".")[0].partition("[")[0] for path in found.replaces}),
                diffs=sorted({path.partition(".")[0].partition("[")[0] for path in detail}),
                detailedDiff=detail,
                hasDetailedDiff=True,
            )

        return _answered(context, answer)

    def Create(self, request: Any, context: Any) -> Any:  # noqa: N802 - protocol
        """Create a resource; in a preview say what would be known of it."""

        def answer() -> Any:
            token, inputs = _token(request.urn), from_struct(request.properties)
            if request.preview:
                return provider_pb2.CreateResponse(properties=to_struct(preview_outputs(token, inputs)))
            record = self._operations.create(token, inputs)
            return provider_pb2.CreateResponse(id=record.id, properties=to_struct(record.outputs))

        return _answered(context, answer)

    def Read(self, request: Any, context: Any) -> Any:  # noqa: N802 - protocol
        """Say how a resource is now, for refresh and import."""

        def answer() -> Any:
            record = self._operations.read(_known_token(request.urn), request.id)
            if record is None:
                return provider_pb2.ReadResponse()
            return provider_pb2.ReadResponse(
                id=record.id, properties=to_struct(record.outputs), inputs=to_struct(_recorded_inputs(record, request))
            )

        return _answered(context, answer)

    def Update(self, request: Any, context: Any) -> Any:  # noqa: N802 - protocol
        """Change a resource in place; in a preview say what would be known of it."""

        def answer() -> Any:
            token, inputs = _token(request.urn), from_struct(request.news)
            if request.preview:
                shown = preview_outputs(token, inputs, before=from_struct(request.olds))
                return provider_pb2.UpdateResponse(properties=to_struct(shown))
            record = self._operations.update(token, request.id, inputs)
            return provider_pb2.UpdateResponse(properties=to_struct(record.outputs))

        return _answered(context, answer)

    def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802 - protocol
        """Delete a resource."""

        def answer() -> Any:
            self._operations.delete(_known_token(request.urn), request.id)
            return empty_pb2.Empty()

        return _answered(context, answer)

    def Cancel(self, request: Any, context: Any) -> Any:  # noqa: ARG002, N802 - protocol
        """Stop waiting; what the cloud is doing goes on."""
        self._simulation.interrupted.set()
        return empty_pb2.Empty()


def check_inputs(token: str, inputs: dict[str, Any], operations: Operations) -> list[Failure]:
    """Return everything that is wrong with the inputs of a resource, or that its type is not simulated."""
    if token not in KINDS:
        return [Failure("", _UNKNOWN_TYPE.format(token=token, known=", ".join(sorted(KINDS))))]
    failures = list(input_failures(token, inputs))
    if failures:
        return failures  # wrong types would only make the rules below speak nonsense
    return list(KINDS[token].problems(_known_part(inputs), operations.simulation))


def _known_part(value: Any) -> Any:
    """Return a value without what the engine does not know yet."""
    if isinstance(value, dict):
        return {key: _known_part(item) for key, item in value.items() if item != UNKNOWN}
    if isinstance(value, list):
        return [_known_part(item) for item in value if item != UNKNOWN]
    return value


def _recorded_inputs(record: Record, request: Any) -> dict[str, Any]:
    """Return the inputs as recorded, keeping bookkeeping that the engine or SDK put into theirs."""
    extra = {key: value for key, value in from_struct(request.inputs).items() if key.startswith("__")}
    return {**record.inputs, **extra}


def _token(urn: str) -> str:
    """Return the resource type of a URN, whose type part also lists the parents' types."""
    return urn.split("::")[2].rpartition("$")[2]


def _known_token(urn: str) -> str:
    token = _token(urn)
    if token not in KINDS:
        raise CloudError(_UNKNOWN_TYPE.format(token=token, known=", ".join(sorted(KINDS))))
    return token


def _answered(context: Any, answer: Callable[[], _Answer]) -> _Answer:
    """Run one request; a refusal becomes the message the user reads, and never a traceback."""
    try:
        return answer()
    except CreatedButFailedError as error:
        detail = any_pb2.Any()
        detail.Pack(
            provider_pb2.ErrorResourceInitFailed(
                id=error.resource_id,
                properties=to_struct(error.outputs),
                inputs=to_struct(error.inputs),
                reasons=[_PREFIX + str(error)],
            )
        )
        status = status_pb2.Status(
            code=grpc.StatusCode.UNKNOWN.value[0], message=_PREFIX + str(error), details=[detail]
        )
        context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        context.abort(grpc.StatusCode.UNKNOWN, _PREFIX + str(error))
    except CloudError as error:
        context.abort(grpc.StatusCode.UNKNOWN, _PREFIX + str(error))
    except Exception as error:  # noqa: BLE001 - a fault of the simulation itself; the user reads one line
        _LOG.exception("a request failed")
        context.abort(grpc.StatusCode.INTERNAL, f"{_PREFIX}fault in the simulation: {type(error).__name__}: {error}")
    raise AssertionError("unreachable: abort raises")
