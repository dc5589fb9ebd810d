"""Exactly the processes that were started are ended: all of them, and no other."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from beamline.sandbox.ports import LOOPBACK, free_ports, is_free
from beamline.sandbox.processes import MARKER, Started, alive, marked, start, stop

_WAITS = "import signal; print('up', flush=True); signal.pause()"
_STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {_WAITS}"
_WITH_CHILD = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {_WAITS!r}]); {_WAITS}"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A sandbox folder whose processes are gone after the test, whatever it did."""
    yield tmp_path
    assert stop(marked(tmp_path), grace_s=5) == []


def _start(folder: Path, program: str, lines: int = 1) -> Started:
    """Start a Python program and wait until it has said that it is up."""
    log = folder / "log"
    os.mkfifo(log)
    # The reader must be there before the process opens its log, and the process before the reader sees an end.
    reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    started = start([sys.executable, "-c", program], folder=folder, log=log, environment=dict(os.environ))
    os.set_blocking(reader, True)
    with os.fdopen(reader) as said:
        for _ in range(lines):
            while not said.readline():
                pass
    log.unlink()
    return started


def test_a_started_process_is_alive_marked_and_ends_when_stopped(folder: Path) -> None:
    started = _start(folder, _WAITS)
    assert alive(started)
    assert marked(folder) == [started]
    assert os.getsid(started.pid) == started.pid  # Ctrl-C at the terminal does not reach it
    assert stop([started], grace_s=5) == []
    assert not alive(started)
    assert marked(folder) == []


def test_a_process_that_ignores_the_polite_signal_is_killed(folder: Path) -> None:
    started = _start(folder, _STUBBORN)
    assert stop([started], grace_s=0.2) == []
    assert not alive(started)


def test_children_end_with_their_server(folder: Path) -> None:
    started = _start(folder, _WITH_CHILD, lines=2)
    children = psutil.Process(started.pid).children()
    assert len(children) == 1
    stop([started], grace_s=5)
    assert psutil.wait_procs(children, timeout=5) == (children, [])


def test_a_pid_that_is_now_another_process_is_left_alone(folder: Path) -> None:
    started = _start(folder, _WAITS)
    earlier = Started(started.pid, started.created_s - 3600)
    assert not alive(earlier)
    assert stop([earlier], grace_s=0.2) == []
    assert alive(started)


def test_a_killed_server_is_not_alive_although_nobody_asked_how_it_ended(folder: Path) -> None:
    started = _start(folder, _WAITS)
    os.kill(started.pid, signal.SIGKILL)
    psutil.Process(started.pid).wait(5)
    assert not alive(started)


def test_what_a_killed_command_left_unrecorded_is_found_by_its_mark(folder: Path) -> None:
    environ = {**os.environ, MARKER: str(folder)}
    with subprocess.Popen([sys.executable, "-c", _WAITS], env=environ, stdout=subprocess.PIPE) as plugin:
        assert plugin.stdout is not None
        plugin.stdout.readline()
        assert [each.pid for each in marked(folder)] == [plugin.pid]
        stop(marked(folder), grace_s=5)


def test_processes_of_another_sandbox_are_not_found(folder: Path) -> None:
    other = folder / "other"
    other.mkdir()
    started = _start(other, _WAITS)
    assert marked(folder) == []
    stop([started], grace_s=5)


def test_the_users_environment_is_not_handed_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/secret.json")
    environ = {key: value for key, value in os.environ.items() if not key.startswith("GOOGLE")}
    log = folder / "log"
    started = start(
        [sys.executable, "-c", "import os; print(sorted(k for k in os.environ if 'GOOGLE' in k))"],
        folder=folder,
        log=log,
        environment=environ,
    )
    psutil.Process(started.pid).wait(10)
    assert log.read_text() == "[]\n"


def test_ports_are_different_free_and_outside_the_range_of_outgoing_connections() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert all(20_000 <= port <= 32_000 and is_free(port) for port in ports)


def test_a_port_with_a_listener_is_not_free() -> None:
    with socket.create_server((LOOPBACK, 0)) as server:
        assert not is_free(server.getsockname()[1])
