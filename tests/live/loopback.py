"""Dynamo's frontend and simulated workers as processes of this machine, on loopback and in a folder of their own.

They run from ``.venv-dynamo`` (``make live`` makes it), whose packages cannot live beside the kit's.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import requests

from stacks.settings import STACKS_DIR
from tests.live.rendered import Rendered, Simulated, rendered
from tests.manifests.cluster_objects import Objects

__all__ = ["PYTHON", "WORKERS", "NotReadyError", "Running", "serving"]

PYTHON = STACKS_DIR.parent / ".venv-dynamo" / "bin" / "python"
WORKERS = 4
"""Of all roles together, the same number of each."""
_READY_S = 60
_LOOK_EVERY_S = 0.1


class NotReadyError(RuntimeError):
    """A process ended before it served, or did not serve in time; the text has the ends of all logs."""


def _free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@dataclass
class Running:
    """A frontend and its workers."""

    rendered: Rendered
    frontend: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]
    folder: Path
    start: Callable[[str, list[str], Mapping[str, str]], subprocess.Popen[bytes]]

    @property
    def url(self) -> str:
        """Where the frontend listens."""
        return self.rendered.url

    @property
    def model(self) -> str:
        """The name that is served."""
        return self.rendered.model

    def kill_worker(self, number: int) -> None:
        """SIGKILL: no drain, no goodbye. Those of the first role come first."""
        self.workers[number].kill()
        self.workers[number].wait()

    def restart_frontend(self) -> None:
        """SIGKILL, and a new one with the same command; returns when it serves."""
        self.frontend.kill()
        self.frontend.wait()
        self.frontend = self.start("frontend-again", self.rendered.frontend, self.rendered.frontend_variables)
        _await_ready(self)

    def known(self) -> dict[str, set[str]]:
        """The router's ids of the workers that it knows, by Dynamo's name of their role: backend, prefill."""
        found: dict[str, set[str]] = {}
        for instance in requests.get(f"{self.url}/health", timeout=5).json().get("instances", ()):
            if instance.get("endpoint") == "generate":
                found.setdefault(instance["component"], set()).add(str(instance["instance_id"]))
        return found

    def metrics(self) -> dict[str, float]:
        """Sums of the frontend's metrics, over their labels, by name."""
        found: dict[str, float] = {}
        for line in requests.get(f"{self.url}/metrics", timeout=10).text.splitlines():
            if line and not line.startswith("#"):
                name, value = line.partition("{")[0].partition(" ")[0], line.rpartition(" ")[2]
                found[name] = found.get(name, 0.0) + float(value)
        return found

    def logs(self) -> str:
        """The last lines of everyone, for a failed test."""
        return "\n".join(
            f"--- {log.name}\n" + "\n".join(log.read_text(errors="replace").splitlines()[-15:])
            for log in sorted(self.folder.glob("*.log"))
        )


@contextlib.contextmanager
def serving(
    found: Objects, folder: Path, *, simulated: Simulated | None = None, together: bool = True
) -> Iterator[Running]:
    """Run a rendered stack, a role's workers in one process or each in its own; end all of them whatever happens."""
    for part in ("discovery", "home"):
        (folder / part).mkdir(parents=True)
    own = rendered(found, folder, port=_free_port(), simulated=simulated or Simulated())
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, arguments: list[str], variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
        started.append(_process(folder, name, arguments, variables))
        return started[-1]

    try:
        of_role = WORKERS // len(own.workers)
        counts = [of_role] if together else [1] * of_role
        running = Running(
            rendered=own,
            frontend=start("frontend", own.frontend, own.frontend_variables),
            workers=[
                start(f"{role}-{number}", [*arguments, f"--num-workers={count}"], own.worker_variables)
                for role, arguments in own.workers.items()
                for number, count in enumerate(counts)
            ],
            folder=folder,
            start=start,
        )
        _await_ready(running)
        yield running
    finally:
        for process in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _process(folder: Path, name: str, arguments: list[str], variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            [str(PYTHON), *arguments],
            env={"PATH": os.environ["PATH"], **variables},
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
            start_new_session=True,
        )


def _await_ready(running: Running) -> None:
    until = time.monotonic() + _READY_S
    while time.monotonic() < until:
        if any(process.poll() is not None for process in (running.frontend, *running.workers)):
            break
        if _registered(running) >= WORKERS:
            return
        time.sleep(_LOOK_EVERY_S)
    raise NotReadyError(running.logs())


def _registered(running: Running) -> int:
    """Workers that are known, once the model is served."""
    try:
        if not requests.get(f"{running.url}/v1/models", timeout=5).json()["data"]:
            return 0
        return sum(len(found) for found in running.known().values())
    except (requests.RequestException, ValueError, KeyError):
        return 0
