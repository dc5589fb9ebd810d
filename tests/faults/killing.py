"""Kills a process while the engine waits for one chosen operation, and says what was in flight.

The engine's event log says which operations are begun and not ended; the simulated cloud's ledger and the API server
say how far they are. Both are polled without a pause: a kill has to lie inside the operation.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from beamline.recovery import named
from beamline.recovery.identities import identify
from beamline.sandbox.cloud.ledger import Ledger, State
from beamline.sandbox.kubernetes_api import KubernetesApi
from stacks.cloud import SANDBOX_PROJECT
from tests.faults.schedule import Kill, Victim, Work
from tests.faults.stack import LIMIT_S, Stack

__all__ = ["EventLog", "Killed", "Operation", "eligible", "kill_in"]

_OPS = {
    Work.CREATE: ("create", "create-replacement"),
    Work.UPDATE: ("update", "create", "create-replacement", "delete", "delete-replaced"),
    Work.DELETE: ("delete", "delete-replaced"),
}
_PACKAGE = {Victim.GOOGLE: "gcp:", Victim.KUBERNETES: "kubernetes:"}
_PROCESS = {
    Victim.GOOGLE: "beamline.sandbox.cloud",
    Victim.KUBERNETES: "pulumi-resource-kubernetes",
    Victim.HOST: "beamline.host",
}
_UNFINISHED = (State.WORKING, State.DELETING)


@dataclass(frozen=True)
class Operation:
    """One thing the engine does to one resource."""

    op: str
    urn: str
    kind: str
    inputs: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.op} {named(self.urn)}"


@dataclass(frozen=True)
class Killed:
    """What a kill hit."""

    operation: Operation
    others: int
    """Further operations that were in flight."""
    code: int
    """How the engine ended; -9 when it was killed itself."""
    pending: tuple[str, ...]
    """What the state calls pending afterwards."""


@dataclass
class EventLog:
    """The engine's event log as it grows: what is begun and not ended."""

    file: Path
    in_flight: dict[str, Operation] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    _offset: int = 0

    def read(self) -> Iterator[Operation]:
        """Yield what was begun since the last look and has not ended."""
        begun = []
        with self.file.open("rb") as log:
            log.seek(self._offset)
            for line in log:
                if not line.endswith(b"\n"):
                    break  # still being written
                self._offset += len(line)
                if operation := self._take(json.loads(line)):
                    begun.append(operation)
        yield from (each for each in begun if each.urn in self.in_flight)

    def _take(self, event: Mapping[str, Any]) -> Operation | None:
        if "resourcePreEvent" in event:
            metadata = event["resourcePreEvent"]["metadata"]
            new = metadata.get("new") or metadata.get("old") or {}
            if metadata["op"] in ("same", "read", "refresh", "replace") or not new.get("custom"):
                return None
            operation = Operation(metadata["op"], metadata["urn"], metadata["type"], new.get("inputs") or {})
            self.in_flight[operation.urn] = operation
            return operation
        for key in ("resOutputsEvent", "resOpFailedEvent"):
            if key in event:
                metadata = event[key]["metadata"]
                self.in_flight.pop(metadata["urn"], None)
                if key == "resOpFailedEvent":
                    self.failed.add(metadata["urn"])
        return None


def eligible(kill: Kill, operation: Operation) -> bool:
    """Tell whether a kill may hit this operation: a provider is killed in its own work."""
    if operation.kind.startswith("pulumi:"):
        return False  # a provider, which is in no cloud
    return operation.op in _OPS[kill.work] and operation.kind.startswith(_PACKAGE.get(kill.victim, ""))


def kill_in(stack: Stack, kill: Kill, begin: int, *arguments: str) -> Killed | None:
    """Run a Pulumi command and kill in it; return None when it ended before there was anything to kill.

    ``begin`` is how many eligible operations are let pass.
    """
    log = EventLog(stack.home.logs / "faults.events.jsonl")
    log.file.write_bytes(b"")
    command = [*stack.command(*arguments), "--event-log", str(log.file)]
    output = (stack.home.logs / "faults.log").open("wb")
    with (
        output,
        subprocess.Popen(
            command,
            cwd=stack.home.project,
            env=stack.environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            process_group=0,
        ) as process,
    ):
        operation = _struck(stack, kill, begin, process, log)
        others = len(log.in_flight) - 1
        process.wait(LIMIT_S)
    if operation is None:
        return None
    pending = tuple(each["resource"]["urn"] for each in stack.state().get("pending_operations") or [])
    list(log.read())
    if kill.victim is Victim.ENGINE and operation.urn not in pending:
        return None
    if kill.victim in _PACKAGE and operation.urn not in log.failed:
        return None
    return Killed(operation, others, process.returncode, pending)


def _struck(stack: Stack, kill: Kill, begin: int, process: subprocess.Popen[bytes], log: EventLog) -> Operation | None:
    """Kill in the first eligible operation after ``begin`` that is caught in flight."""
    passed = 0
    is_far_enough = _far_enough(stack, kill)
    while process.poll() is None:
        for operation in log.read():
            if not eligible(kill, operation):
                continue
            passed += 1
            if passed > begin and _caught(operation, process, log, is_far_enough) and _strike(kill, process):
                return operation
    return None


def _caught(
    operation: Operation,
    process: subprocess.Popen[bytes],
    log: EventLog,
    is_far_enough: Callable[[Operation], bool],
) -> bool:
    """Wait until the operation is as far as the kill wants it; tell whether it has not ended before."""
    while operation.urn in log.in_flight and process.poll() is None:
        if is_far_enough(operation):
            return True
        list(log.read())
    return False


def _far_enough(stack: Stack, kill: Kill) -> Callable[[Operation], bool]:
    """Return what tells whether a kill may come. An engine says that it begins before it writes that down."""
    has_begun = _begun(stack) if kill.lands else lambda _: True
    if kill.victim is not Victim.ENGINE:
        return has_begun
    return lambda operation: operation.urn in _pending(stack) and has_begun(operation)


def _pending(stack: Stack) -> set[str]:
    """URNs of the operations that the engine's own state file calls pending now."""
    (file,) = (stack.home.state / ".pulumi" / "stacks").rglob(f"{stack.name}.json")
    with suppress(ValueError):  # just being written
        latest = json.loads(file.read_bytes())["checkpoint"].get("latest") or {}
        return {each["resource"]["urn"] for each in latest.get("pending_operations") or []}
    return set()


def _begun(stack: Stack) -> Callable[[Operation], bool]:
    """Return what tells whether the cloud or cluster has begun with an operation."""
    ledger, api = Ledger(stack.home.ledger), stack.api
    provider = {"project": SANDBOX_PROJECT, "region": "us-central1", "zone": "us-central1-b"}

    def begun(operation: Operation) -> bool:
        identity = identify(operation.kind, operation.inputs, provider)
        if identity is None:
            return True
        if operation.kind.startswith("gcp:"):
            row = ledger.find(operation.kind, identity.id)
            return row is not None and row.state in _UNFINISHED
        if ":helm.sh/" in operation.kind:
            namespace, _, name = identity.id.rpartition("/")
            return _helm_works(api, namespace, name)
        return _object_is_there(api, operation)

    return begun


def _object_is_there(api: KubernetesApi, operation: Operation) -> bool:
    metadata = operation.inputs["metadata"]
    kind, version = operation.inputs["kind"], operation.inputs["apiVersion"]
    found = api.find(version, kind, metadata.get("namespace", ""), metadata["name"])
    if operation.op.startswith("delete"):
        return found is None or "deletionTimestamp" in found["metadata"]
    return found is not None


def _helm_works(api: KubernetesApi, namespace: str, name: str) -> bool:
    secrets = api.items(f"/api/v1/namespaces/{namespace}/secrets", labelSelector=f"owner=helm,name={name}")
    return any(each["metadata"]["labels"]["status"] not in ("deployed", "superseded") for each in secrets)


def _strike(kill: Kill, engine: subprocess.Popen[bytes]) -> bool:
    """Kill the victim; tell whether there was one."""
    if kill.victim is Victim.ENGINE:
        engine.send_signal(signal.SIGKILL)
        return True
    found = False
    with suppress(psutil.NoSuchProcess):
        for process in psutil.Process(engine.pid).children(recursive=True):
            with suppress(psutil.Error):
                if _PROCESS[kill.victim] in " ".join(process.cmdline()):
                    process.kill()
                    found = True
    return found
