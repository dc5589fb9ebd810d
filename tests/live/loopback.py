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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import requests

from stacks.settings import STACKS_DIR
from tests.live.rendered import Rendered

__all__ = ["PYTHON", "Running", "free_port", "serving"]

PYTHON = STACKS_DIR.parent / ".venv-dynamo" / "bin" / "python"
_READY_S = 60
_LOOK_EVERY_S = 0.1


def free_port() -> int:
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
    killed: list[int] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Where the frontend listens."""
        return self.rendered.url

    def kill_worker(self, number: int) -> None:
        """SIGKILL: no drain, no goodbye."""
        self.workers[number].kill()
        self.workers[number].wait()
        self.killed.append(number)

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
def serving(rendered: Rendered, folder: Path, *, workers: int, together: bool = True) -> Iterator[Running]:
    """Start a frontend and workers, in one process or each in its own; end them whatever happens."""
    (folder / "discovery").mkdir(exist_ok=True)
    (folder / "home").mkdir(exist_ok=True)
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, arguments: list[str], variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
        with (folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [str(PYTHON), *arguments],
                env={"PATH": os.environ["PATH"], **variables},
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=folder,
                start_new_session=True,
            )
        started.append(process)
        return process

    try:
        counts = [workers] if together else [1] * workers
        running = Running(
            rendered=rendered,
            frontend=start("frontend", rendered.frontend, rendered.frontend_variables),
            workers=[
                start(f"worker-{number}", [*rendered.worker, f"--num-workers={count}"], rendered.worker_variables)
                for number, count in enumerate(counts)
            ],
            folder=folder,
        )
        _await_ready(running, workers)
        yield running
    finally:
        for process in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _await_ready(running: Running, workers: int) -> None:
    until = time.monotonic() + _READY_S
    while time.monotonic() < until:
        ended = [p for p in (running.frontend, *running.workers) if p.poll() is not None]
        if ended:
            break
        if _registered(running) >= workers:
            return
        time.sleep(_LOOK_EVERY_S)
    raise RuntimeError(f"not ready:\n{running.logs()}")


def _registered(running: Running) -> int:
    """Workers that are known, once the model is served."""
    try:
        if not requests.get(f"{running.url}/v1/models", timeout=5).json()["data"]:
            return 0
        found = requests.get(f"{running.url}/health", timeout=5).json()
    except (requests.RequestException, ValueError, KeyError):
        return 0
    return len({i["instance_id"] for i in found.get("instances", ()) if i.get("endpoint") == "generate"})
