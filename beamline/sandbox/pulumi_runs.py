"""Runs the Pulumi command line and follows what its engine does.

The whole output goes to a log file. Progress and errors are read from the engine's event log, which is made for
programs, rather than from text that is made for people.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from beamline.recovery import named
from beamline.sandbox.home import Home
from beamline.sandbox.processes import MARKER
from beamline.sandbox.progress import Progress, Report, silent
from beamline.sandbox.project import environment
from stacks.urns import STACK_TYPE

__all__ = ["EngineError", "Run", "ask", "run"]

_POLL_S = 0.2
_INTERRUPT_LIMIT_S = 60.0
_ANSI = re.compile(r"<\{%[^%]*%\}>|\x1b\[[0-9;]*m")
_UNCHANGED = ("same", "read", "refresh")
_SHOWN = {
    "create": "creating",
    "update": "updating",
    "delete": "deleting",
    "replace": "replacing",
    "create-replacement": "creating replacement of",
    "delete-replaced": "deleting replaced",
}


@dataclass(frozen=True)
class EngineError:
    """One error the engine showed; ``urn`` is empty where it is about no single resource."""

    urn: str
    message: str


@dataclass
class Run:
    """What one Pulumi command did."""

    code: int = 0
    interrupted: bool = False
    """Ended by ``keep_waiting``, not by itself."""
    steps: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    """URN to (operation, changed properties), for operations that change something; the stack itself left out."""
    errors: list[EngineError] = field(default_factory=list)
    changes: dict[str, int] = field(default_factory=dict)
    """Operation to number of resources, from the engine's own summary."""
    resource_events: int = 0
    """How many resource operations were begun or ended: grows as long as the engine gets on."""


def ask(home: Home, *arguments: str) -> str:
    """Run a quick Pulumi command and return its output; raises CalledProcessError with stderr when it fails."""
    return subprocess.run(
        [str(home.bin / "pulumi"), *arguments, "--non-interactive"],
        cwd=home.project,
        env={**environment(home), MARKER: str(home.folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def run(
    home: Home,
    step: str,
    *arguments: str,
    report: Report = silent,
    total: int | None = None,
    keep_waiting: Callable[[Run], bool] = lambda _: True,
) -> Run:
    """Run one engine operation (``preview``, ``up --skip-preview``, ``destroy --skip-preview``, ``refresh``).

    An operation that previews first would write its event log twice over. Each resource is reported as it is begun and
    done, ``total`` being how many there will be. ``keep_waiting`` is called between events; when it says no, the engine
    is interrupted as by Ctrl-C: it ends what it waits for and keeps its state. So is it when this process is
    interrupted.
    """
    log = home.logs / f"pulumi-{arguments[0]}.log"
    events = home.logs / f"pulumi-{arguments[0]}.events.jsonl"
    events.unlink(missing_ok=True)
    events.touch(mode=0o600)
    command = [str(home.bin / "pulumi"), *arguments, "--non-interactive", "--event-log", str(events)]
    environ = {**environment(home), MARKER: str(home.folder), "PULUMI_DEBUG_COMMANDS": "true"}
    follower = _Follower(step, report, total)
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as output:
        with _interruptible_children():
            process = subprocess.Popen(
                command,
                cwd=home.project,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=0,  # Ctrl-C reaches this process only, which then interrupts the engine once
            )
        try:
            _follow(process, events, follower, keep_waiting)
        finally:
            _end(process)
    follower.read(events)
    follower.run.code = process.returncode
    if follower.run.code != 0 and not follower.run.errors:
        follower.run.errors.append(EngineError("", _said(log)))
    return follower.run


@contextmanager
def _interruptible_children() -> Iterator[None]:
    """Start processes that hear interrupts although this one does not, as in a shell's background job.

    A signal that is ignored stays so across an exec, one with a handler does not. An engine that cannot be interrupted
    would have to be killed, and leave operations pending. Only the main thread may set handlers.
    """
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if not ignored or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _follow(
    process: subprocess.Popen[bytes], events: Path, follower: _Follower, keep_waiting: Callable[[Run], bool]
) -> None:
    interrupted_at: float | None = None
    while process.poll() is None:
        follower.read(events)
        if interrupted_at is None and not keep_waiting(follower.run):
            follower.run.interrupted = True
            interrupted_at = time.monotonic()
            process.send_signal(signal.SIGINT)
        if interrupted_at is not None and time.monotonic() - interrupted_at > _INTERRUPT_LIMIT_S:
            return
        time.sleep(_POLL_S)


def _end(process: subprocess.Popen[bytes]) -> None:
    """See to it that the engine is gone: asked first, so that it saves its state."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGINT)
    try:
        process.wait(_INTERRUPT_LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _said(log: Path) -> str:
    """Return what a command that failed before its engine started printed."""
    text = _ANSI.sub("", log.read_text(encoding="utf-8", errors="replace")).strip()
    found = text.partition("error: ")[2] or text
    return found.strip()


class _Follower:
    """Reads the event log as it grows."""

    def __init__(self, step: str, report: Report, total: int | None) -> None:
        self.run = Run()
        self._step = step
        self._report = report
        self._total = total
        self._offset = 0
        self._done = 0

    def read(self, events: Path) -> None:
        with events.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break  # still being written
                self._offset += len(line)
                self._take(json.loads(line))

    def _take(self, event: Mapping[str, Any]) -> None:
        if "diagnosticEvent" in event:
            self._diagnostic(event["diagnosticEvent"])
        elif "policyEvent" in event:
            violation = event["policyEvent"]
            if violation["enforcementLevel"] == "mandatory":
                message = f"{violation['policyName']}: {_plain(violation['message'])}"
                self.run.errors.append(EngineError(violation.get("resourceUrn", ""), message))
        elif "resourcePreEvent" in event:
            self.run.resource_events += 1
            self._begun(event["resourcePreEvent"])
        elif "resOutputsEvent" in event and not event["resOutputsEvent"].get("planning"):
            self.run.resource_events += 1
            self._finished(event["resOutputsEvent"]["metadata"])
        elif "summaryEvent" in event:
            self.run.changes = dict(event["summaryEvent"].get("resourceChanges") or {})

    def _diagnostic(self, diagnostic: Mapping[str, Any]) -> None:
        message = _plain(diagnostic["message"])
        if diagnostic.get("severity") == "error" and message:
            self.run.errors.append(EngineError(diagnostic.get("urn", ""), message))

    def _begun(self, event: Mapping[str, Any]) -> None:
        metadata = event["metadata"]
        if self._note(metadata) and not event.get("planning"):
            op = metadata["op"]
            self._report(
                Progress(self._step, f"{_SHOWN.get(op, op)} {named(metadata['urn'])}", self._done, self._total)
            )

    def _finished(self, metadata: Mapping[str, Any]) -> None:
        if self._note(metadata):  # again: what a refresh found is known only at its end
            self._done += 1
            self._report(Progress(self._step, f"done {named(metadata['urn'])}", self._done, self._total))

    def _note(self, metadata: Mapping[str, Any]) -> bool:
        """Remember an operation that changes something; tell whether it is one."""
        if metadata["op"] in _UNCHANGED or metadata["type"] == STACK_TYPE:
            return False
        properties = metadata.get("diffs") or metadata.get("detailedDiff") or ()
        self.run.steps[metadata["urn"]] = (metadata["op"], tuple(properties))
        return True


def _plain(text: str) -> str:
    return _ANSI.sub("", text).strip()
