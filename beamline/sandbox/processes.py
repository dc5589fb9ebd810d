"""Starts servers that outlive this command, and ends exactly those.

A process id is soon another process's. So each start is recorded with the time the process was created, and every
process of a sandbox carries the sandbox's folder in its environment: that also finds the ones a killed command had no
time to record, and the plugins that a killed Pulumi leaves.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

__all__ = ["MARKER", "Started", "alive", "marked", "memory_mib", "start", "stop"]

MARKER = "BEAMLINE_SANDBOX_PROCESS"
"""Environment variable with the sandbox's folder. The user's shell does not carry it: ``down`` must not end that."""

_CLOCK_STEP_S = 2.0
"""psutil derives the creation time from the system clock; a clock correction moves it a little."""

_children: set[int] = set()
"""Processes started by this one; of others, nobody here may ask how they ended."""


@dataclass(frozen=True)
class Started:
    """The identity of a process."""

    pid: int
    created_s: float


def start(argv: list[str], *, folder: Path, log: Path, environment: Mapping[str, str]) -> Started:
    """Start a server in a session of its own, its output appended to ``log``, marked as the sandbox ``folder``'s.

    It gets ``environment`` and nothing of the user's: no proxies, no cloud credentials.
    """
    environ = {**environment, MARKER: str(folder)}
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(log), flags, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    pid = os.posix_spawn(argv[0], argv, environ, file_actions=actions, setsid=True)
    _children.add(pid)
    return Started(pid, psutil.Process(pid).create_time())


def alive(started: Started) -> bool:
    """Tell whether the very process that was started still runs."""
    return _process(started) is not None


def memory_mib(started: Started) -> int | None:
    """Return the resident memory of a running process in MiB."""
    process = _process(started)
    try:
        return None if process is None else round(process.memory_info().rss / 2**20)
    except psutil.Error:
        return None


def marked(folder: Path) -> list[Started]:
    """Return every running process that belongs to the sandbox ``folder``, recorded or not."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(MARKER) == str(folder) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(Started(process.pid, process.create_time()))
    return found


def stop(processes: Iterable[Started], *, grace_s: float = 10.0) -> list[Started]:
    """End the processes with their groups: politely, then after ``grace_s`` by force. Return those that would not end.

    A pid that is by now another process is left alone.
    """
    waiting = list(processes)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for started in waiting:
            _signal(started, number)
        waiting = _wait(waiting, grace_s)
    return waiting


def _wait(processes: list[Started], limit_s: float) -> list[Started]:
    deadline = time.monotonic() + limit_s
    waiting = [started for started in processes if alive(started)]
    while waiting and time.monotonic() < deadline:
        time.sleep(0.05)
        waiting = [started for started in waiting if alive(started)]
    return waiting


def _process(started: Started) -> psutil.Process | None:
    if started.pid in _children:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(started.pid, os.WNOHANG)  # a dead child of ours stays a zombie until asked for
    try:
        process = psutil.Process(started.pid)
        same = abs(process.create_time() - started.created_s) < _CLOCK_STEP_S
        return process if same and process.status() != psutil.STATUS_ZOMBIE else None
    except psutil.Error:
        return None


def _signal(started: Started, number: signal.Signals) -> None:
    if not alive(started):
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        # Servers lead a group of their own; a stray plugin may not, and then its group is somebody else's.
        if os.getpgid(started.pid) == started.pid:
            os.killpg(started.pid, number)
        else:
            os.kill(started.pid, number)
