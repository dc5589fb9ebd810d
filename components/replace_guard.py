"""Stops an update before it replaces or deletes what is expensive to lose, inside ``pulumi`` itself.

Pulumi shows a replacement in its preview and then does it; ``protect`` refuses, but names no property and no way round,
and stands only in production stacks. This guard holds for every stack, in ``preview`` and in ``up --skip-preview``. It
stands between the SDK and the engine: it reads the stack's recorded outputs through a function of the engine itself, so
that no resource, credential or command line is needed, and sees each registration as the engine would get it, every
value resolved.

- A preview registers everything, so that all problems come at once, and ends with them.
- An update stops at the first guarded resource, before the engine hears of it. Deletions are the engine's last act and
  only after a program that ended well, so what is missing is counted at the end.
- What is meant by name loses Pulumi's own ``protect`` for this one update: the engine allows unprotecting and replacing
  together. The next update protects again. What is deleted, or goes with another resource, has to be unprotected in the
  state first (``pulumi state unprotect``): of those the engine looks at what it recorded.
- ``pulumi destroy`` runs no program, and so asks nobody here.

Engine functions: https://github.com/pulumi/pulumi/blob/master/pkg/resource/deploy/builtins.go
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NoReturn

import grpc
import pulumi
from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime import rpc, settings
from pulumi.runtime.proto import alias_pb2, resource_pb2

from components.program import USER_HAS_BEEN_TOLD, problems_reported, report
from guard import UNKNOWN, Recorded, Verdict, Wanted, is_guarded, judge_all, refusals, unused_names
from stacks.problems import EnvironmentProblem, Problem, ProblemsFound, has_errors
from stacks.urns import Identity, alias_urn, make_urn

__all__ = ["guard_replacements"]

_RECORDED_OUTPUTS = "pulumi:pulumi:readStackResourceOutputs"


def guard_replacements(allowed: Sequence[str], where: str) -> None:
    """Watch every registration from here on; ``allowed`` are the names that may be replaced or deleted.

    ``where`` is the stack file. Where no engine knows of a state (a plan in this process), nothing is judged. Raises
    ``EnvironmentProblem`` when the state cannot be read: an unguarded update is not better than none.
    """
    monitor: Any = settings.get_monitor()
    recorded = _recorded(monitor)
    if recorded is not None:
        settings.SETTINGS.monitor = _GuardedMonitor(monitor, _Guard(recorded, allowed, where))


class _Guard:
    """What was recorded, what was asked for so far, and what is meant."""

    def __init__(self, recorded: Sequence[Recorded], allowed: Sequence[str], where: str) -> None:
        self._recorded = recorded
        self._allowed = allowed
        self._where = where
        self._wanted: list[Wanted] = []
        self._lock = threading.Lock()

    def look(self, wanted: Wanted) -> tuple[Verdict, list[Problem]]:
        """Take a resource that is about to be registered; return what would become of it, and what is refused so far.

        A resource that is replaced takes others along that are not registered yet.
        """
        with self._lock:
            self._wanted.append(wanted)
            verdicts = judge_all(self._recorded, self._wanted, complete=False)
        (own,) = [verdict for verdict in verdicts if verdict.urn == wanted.urn]
        return own, refusals(verdicts, self._allowed, self._where)

    def all_problems(self) -> list[Problem]:
        """Return every refusal and every name that was allowed for nothing, now that all is registered."""
        verdicts = judge_all(self._recorded, self._wanted)
        return [
            *refusals(verdicts, self._allowed, self._where),
            *unused_names(verdicts, self._allowed, self._where),
        ]

    def is_meant(self, verdict: Verdict) -> bool:
        """Tell whether a resource is about to be replaced on purpose."""
        return verdict.destroys and verdict.name in self._allowed


class _GuardedMonitor:
    """The engine's resource monitor, with a look at what it is asked for."""

    def __init__(self, monitor: Any, guard: _Guard) -> None:
        self._monitor = monitor
        self._guard = guard
        self._stopping = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._monitor, name)

    def RegisterResource(  # noqa: N802 - the protocol's name
        self, request: resource_pb2.RegisterResourceRequest
    ) -> resource_pb2.RegisterResourceResponse:
        """Register a resource, unless it is a guarded one that an update would replace."""
        if is_guarded(request.type):
            verdict, problems = self._guard.look(_wanted(request))
            if problems and not pulumi.runtime.is_dry_run():
                self._stop(problems)
            if self._guard.is_meant(verdict):
                request.protect = False
        response: resource_pb2.RegisterResourceResponse = self._monitor.RegisterResource(request)
        return response

    def SignalAndWaitForShutdown(self, request: empty_pb2.Empty) -> empty_pb2.Empty:  # noqa: N802
        """Let the engine finish, which is when it deletes what was not registered, unless that must not be."""
        problems = self._guard.all_problems()
        if has_errors(problems):
            self._stop(problems)
        report(problems)
        response: empty_pb2.Empty = self._monitor.SignalAndWaitForShutdown(request)
        return response

    def _stop(self, problems: Sequence[Problem]) -> NoReturn:
        """Show the problems and end the program, whichever thread this is; only the first one tells the user."""
        if self._stopping.acquire(blocking=False):
            with problems_reported():
                raise ProblemsFound(problems)
        raise SystemExit(USER_HAS_BEEN_TOLD)


def _recorded(monitor: Any) -> list[Recorded] | None:
    """Return the guarded resources of this stack's state, or None where there is no state to know."""
    name = f"{pulumi.get_organization()}/{pulumi.get_project()}/{pulumi.get_stack()}"
    args = struct_pb2.Struct()
    args.update({"stackName": name})
    try:
        response = monitor.Invoke(resource_pb2.ResourceInvokeRequest(tok=_RECORDED_OUTPUTS, args=args))
    except grpc.RpcError as error:
        details = error.details() if isinstance(error, grpc.Call) else str(error)
        raise EnvironmentProblem(
            f"the recorded state of {name} cannot be read, so nobody can tell what this update would replace: {details}"
        ) from error
    if response.unknown:
        return None
    outputs = getattr(response, "return").fields["outputs"].struct_value.fields
    return [
        Recorded(urn=urn, outputs=_plain_struct(resource.struct_value.fields["outputs"].struct_value))
        for urn, resource in outputs.items()
        if is_guarded(resource.struct_value.fields["type"].string_value)
    ]


def _wanted(request: resource_pb2.RegisterResourceRequest) -> Wanted:
    own = Identity(pulumi.get_stack(), pulumi.get_project(), request.type, request.name, request.parent)
    return Wanted(
        urn=make_urn(own.stack, own.project, own.type, own.name, own.parent),
        inputs=_plain_struct(request.object),
        ignored=tuple(request.ignoreChanges),
        aliases=tuple(_alias(alias, own) for alias in request.aliases),
    )


def _alias(alias: alias_pb2.Alias, own: Identity) -> str:
    if alias.WhichOneof("alias") == "urn":
        return alias.urn
    spec = alias.spec
    former = Identity(spec.stack, spec.project, spec.type, spec.name, spec.parentUrn)
    return alias_urn(own, former, no_parent=spec.noParent)


def _plain_struct(struct: struct_pb2.Struct) -> dict[str, Any]:
    return {key: _plain(value) for key, value in struct.fields.items()}


def _plain(value: struct_pb2.Value) -> Any:
    """Return a property as plain Python; what is unknown, secret or no plain value is ``UNKNOWN``."""
    match value.WhichOneof("kind"):
        case "struct_value":
            is_special = rpc._special_sig_key in value.struct_value.fields  # noqa: SLF001 - the SDK has no public name for it
            return UNKNOWN if is_special else _plain_struct(value.struct_value)
        case "list_value":
            return [_plain(item) for item in value.list_value.values]
        case "number_value":
            number = value.number_value
            return int(number) if number.is_integer() else number
        case "string_value":
            return UNKNOWN if value.string_value == rpc.UNKNOWN else value.string_value
        case "bool_value":
            return value.bool_value
    return None
