"""Where a sandbox keeps everything it writes, and the record of what it runs.

One folder per sandbox, so that the checkout stays clean and removing the folder removes all of it. The record is
replaced atomically and written before and after every step, so that a later command finds what a killed one left.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from stacks.problems import EnvironmentProblem, Problem, ProblemsFound

__all__ = ["CHECKOUT", "DEFAULT_TIME_SCALE", "Home", "Record", "home_of", "locked", "sandbox_names", "write_atomically"]

CHECKOUT = Path(__file__).resolve().parents[2]
"""The repository this code runs from."""

DEFAULT_TIME_SCALE = 600.0
"""Simulated seconds per real second: a node that boots for ten minutes is there after one second."""

_NAME = re.compile(r"[a-z]([a-z0-9-]{0,28}[a-z0-9])?")


@dataclass(frozen=True)
class Home:
    """The folder of one sandbox and the places in it."""

    name: str
    folder: Path

    @property
    def record_file(self) -> Path:
        """Ports, processes and state."""
        return self.folder / "sandbox.json"

    @property
    def kubernetes(self) -> Path:
        """Data of etcd, certificates, tokens, kubeconfigs, and the files the control plane reads."""
        return self.folder / "kubernetes"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.kubernetes / "kubeconfig.yaml"

    @property
    def ca_file(self) -> Path:
        """The certificate that the API server made for itself."""
        return self.kubernetes / "certs" / "apiserver.crt"

    @property
    def admin_token_file(self) -> Path:
        """The administrator's bearer token, readable by the owner only."""
        return self.kubernetes / "admin.token"

    @property
    def charts(self) -> Path:
        """What Helm keeps, and the certificate of the simulated chart registries' CA."""
        return self.folder / "charts"

    @property
    def charts_ca_file(self) -> Path:
        """What the Kubernetes provider trusts when it downloads a chart."""
        return self.charts / "ca.crt"

    @property
    def logs(self) -> Path:
        """One log per process and per Pulumi command."""
        return self.folder / "logs"

    @property
    def bin(self) -> Path:
        """What stands first on PATH for Pulumi and for the user's shell."""
        return self.folder / "bin"

    @property
    def ledger(self) -> Path:
        """The simulated cloud's SQLite file: what exists in the simulated project."""
        return self.folder / "cloud" / "ledger.db"

    @property
    def project(self) -> Path:
        """The Pulumi project: Pulumi.yaml, copies of stack files, a link to the program."""
        return self.folder / "project"

    @property
    def pulumi(self) -> Path:
        """PULUMI_HOME and the passphrase."""
        return self.folder / "pulumi"

    @property
    def state(self) -> Path:
        """Pulumi's file backend."""
        return self.folder / "state"

    def create(self) -> None:
        """Make the folders, readable by the owner only: they hold tokens."""
        for folder in (
            self.folder,
            self.kubernetes,
            self.charts,
            self.logs,
            self.bin,
            self.ledger.parent,
            self.project,
        ):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for folder in (self.pulumi, self.state):
            folder.mkdir(exist_ok=True, mode=0o700)


@dataclass(frozen=True)
class Record:
    """What ``sandbox.json`` says. ``kubernetes`` and ``time_scale`` are read by the simulated cloud and operators."""

    name: str
    """Also the name of the Pulumi stack."""
    time_scale: float = DEFAULT_TIME_SCALE
    kubernetes: dict[str, str] = field(default_factory=dict)
    ports: dict[str, int] = field(default_factory=dict)
    processes: dict[str, dict[str, float]] = field(default_factory=dict)
    """Component to ``pid`` and ``created_s`` (process creation, seconds since the epoch)."""
    applied: str = ""
    """Fingerprint of the program and stack file of the last successful apply; empty before the first."""

    def with_process(self, name: str, pid: int, created_s: float) -> Record:
        """Return the record with one process added or replaced."""
        return replace(self, processes={**self.processes, name: {"pid": pid, "created_s": created_s}})

    def save(self, home: Home) -> None:
        """Write the record, whole or not at all."""
        write_atomically(home.record_file, json.dumps(asdict(self), indent=2) + "\n")

    @classmethod
    def load(cls, home: Home) -> Record | None:
        """Read the record; None where the sandbox has none, as after a crash before the first write."""
        try:
            data: dict[str, Any] = json.loads(home.record_file.read_text(encoding="utf-8"))
            return cls(**data)
        except (OSError, ValueError, TypeError):
            return None


def home_of(name: str) -> Home:
    """Return the home of the sandbox ``name`` under ``$BEAMLINE_HOME`` or the checkout's ``.beamline``."""
    if not _NAME.fullmatch(name):
        raise ProblemsFound(
            [
                Problem(
                    rule="sandbox-name",
                    path="sandbox name",
                    value=name,
                    why="the name becomes a folder and a Pulumi stack name",
                    allowed="1 to 30 lower-case letters, digits and hyphens, starting with a letter",
                    remedy="name the sandbox after its stack, for example g4",
                )
            ]
        )
    return Home(name, _sandboxes() / name)


def sandbox_names() -> list[str]:
    """Return the names of the sandboxes that have a folder."""
    folder = _sandboxes()
    return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


@contextmanager
def locked(home: Home) -> Iterator[None]:
    """Hold the sandbox against other commands; the lock goes when this process does, however it ends.

    Raises EnvironmentProblem at once when another command holds it.
    """
    path = home.folder.with_name(f".{home.name}.lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with path.open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                raise EnvironmentProblem(
                    f"another command (process {lock.read().strip() or 'unknown'}) is working on sandbox {home.name}; "
                    "wait until it ends, or interrupt it"
                ) from None
            if not _same_file(path, lock.fileno()):
                continue  # the holder before us removed the file; what we locked is no longer the lock
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
            return


def write_atomically(path: Path, text: str, mode: int = 0o600) -> None:
    """Write a file that readers see whole, old or new, also after a power cut."""
    work = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(work, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        work.replace(path)
    finally:
        work.unlink(missing_ok=True)


def _sandboxes() -> Path:
    return Path(os.environ.get("BEAMLINE_HOME") or CHECKOUT / ".beamline").absolute() / "sandboxes"


def _same_file(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False
