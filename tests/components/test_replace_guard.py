"""The guard between SDK and engine, without an engine; tests/guard asks the real one."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from pulumi.runtime import settings
from pulumi.runtime.proto import resource_pb2

from components.replace_guard import guard_replacements
from stacks import EnvironmentProblem


class Unreadable(grpc.RpcError):
    """What gRPC raises for a backend that cannot be read."""

    def __str__(self) -> str:
        return "decrypting secret value: incorrect passphrase"


class Monitor:
    """An engine that answers the one question as it is told to."""

    def __init__(self, answer: resource_pb2.ResourceInvokeResponse | Exception) -> None:
        self.asked: list[resource_pb2.ResourceInvokeRequest] = []
        self._answer = answer

    def Invoke(self, request: resource_pb2.ResourceInvokeRequest) -> resource_pb2.ResourceInvokeResponse:  # noqa: N802
        self.asked.append(request)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def _guarded_by(monitor: Monitor, patch: pytest.MonkeyPatch) -> Any:
    """Start the guard in front of this engine; return what stands there afterwards."""
    patch.setattr(settings.SETTINGS, "monitor", monitor)
    guard_replacements([], "stacks/Pulumi.g4.yaml")
    return settings.get_monitor()


def test_a_state_that_cannot_be_read_stops_the_update(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EnvironmentProblem, match="nobody can tell what this update would replace: decrypting"):
        _guarded_by(Monitor(Unreadable()), monkeypatch)


def test_where_no_state_is_known_nothing_stands_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan in this process has no state; the command line judges with ``--against``."""
    monitor = Monitor(resource_pb2.ResourceInvokeResponse(unknown=True))
    assert _guarded_by(monitor, monkeypatch) is monitor


def test_the_stack_is_asked_for_by_its_whole_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service's backend takes no shorter one; everything that is not guarded goes straight through."""
    monitor = Monitor(resource_pb2.ResourceInvokeResponse())
    guarded = _guarded_by(monitor, monkeypatch)
    assert guarded is not monitor
    assert guarded.asked is monitor.asked
    (request,) = monitor.asked
    assert request.tok == "pulumi:pulumi:readStackResourceOutputs"
    assert dict(request.args)["stackName"].count("/") == 2
