"""Looking at a sandbox: ``status``, ``logs``, and the environment of a shell in it. Nothing here changes anything."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from beamline.sandbox import engine_state
from beamline.sandbox.components import SIMULATED
from beamline.sandbox.control_plane import tail
from beamline.sandbox.diagnosis import diagnose
from beamline.sandbox.home import Home, Record, home_of
from beamline.sandbox.kubernetes_api import KubernetesApi, Object
from beamline.sandbox.processes import Started, alive, memory_mib
from beamline.sandbox.project import environment
from stacks.problems import EnvironmentProblem, Problem, ProblemsFound

__all__ = ["ProcessStatus", "Shell", "Status", "log_names", "logs", "shell", "status"]

State = Literal["absent", "half-made", "running", "degraded", "stopped"]


@dataclass(frozen=True)
class ProcessStatus:
    """One server of a sandbox."""

    name: str
    pid: int
    alive: bool
    memory_mib: int | None
    log: str
    simulated: bool
    """It stands in for something; otherwise it is the real program."""


@dataclass(frozen=True)
class Status:
    """A sandbox as it is now."""

    name: str
    state: State
    """absent: no folder. half-made: a start was cut off. stopped, degraded: none, or not all, of its servers run."""
    folder: str
    processes: list[ProcessStatus]
    endpoint: str
    kubeconfig: str
    time_scale: float
    applied: bool
    """The last apply succeeded."""
    resources: int
    """Resources the engine knows."""
    nodes: str
    """Ready of all, as ``2/3``; likewise pods. Empty while the API server is down."""
    pods: str
    problems: list[Problem]

    def to_json(self) -> dict[str, object]:
        """Return the record as JSON-ready data."""
        return asdict(self)


@dataclass(frozen=True)
class Shell:
    """What to execute for a shell, or one command, inside a sandbox."""

    argv: list[str]
    environment: dict[str, str]
    folder: Path


def status(name: str) -> Status:
    """Look at a sandbox, without starting or repairing anything."""
    home = home_of(name)
    record = Record.load(home)
    if record is None:
        state: State = "half-made" if home.folder.exists() else "absent"
        return Status(
            name, state, str(home.folder), [], "", "", 0, applied=False, resources=0, nodes="", pods="", problems=[]
        )
    processes = [_process(home, record, component) for component in record.processes]
    running = [process.alive for process in processes]
    nodes, pods, problems = "", "", []
    try:
        api = KubernetesApi(home, record)
        nodes = _ready(api.items("/api/v1/nodes"))
        pods = _ready(pod for pod in api.items("/api/v1/pods") if pod["status"].get("phase") != "Succeeded")
        problems = diagnose(api)
    except (EnvironmentProblem, OSError, KeyError):
        pass  # the API server is down, or never came up; ``processes`` shows it
    return Status(
        name=name,
        state="running" if running and all(running) else "degraded" if any(running) else "stopped",
        folder=str(home.folder),
        processes=processes,
        endpoint=record.kubernetes.get("endpoint", ""),
        kubeconfig=str(home.kubeconfig),
        time_scale=record.time_scale,
        applied=bool(record.applied),
        resources=engine_state.resource_count(home),
        nodes=nodes,
        pods=pods,
        problems=problems,
    )


def shell(name: str, command: Sequence[str] = ()) -> Shell:
    """Return how to run the user's shell, or ``command``, with this sandbox's Pulumi, kubectl and kubeconfig.

    The caller executes it, so that the shell gets the terminal. Raises EnvironmentProblem without such a sandbox.
    """
    home = _there(name)
    environ = {**environment(home), "KUBECONFIG": str(home.kubeconfig), "BEAMLINE_SANDBOX_NAME": name}
    return Shell(list(command) or [os.environ.get("SHELL") or "/bin/sh"], environ, home.project)


def log_names(name: str) -> list[str]:
    """Return what ``logs`` can show: each process and Pulumi command that has run, and ``events``."""
    return [*sorted(path.stem for path in _there(name).logs.glob("*.log")), "events"]


def logs(name: str, log: str, *, lines: int = 50) -> list[str]:
    """Return the last lines of a log, or of the cluster's events with ``log`` = ``events``.

    Raises ProblemsFound naming the logs there are.
    """
    home = _there(name)
    if log == "events":
        record = Record.load(home)
        if record is None:
            raise EnvironmentProblem(f"sandbox {name} is half-made; `beamline sandbox up {name}` completes it")
        return _events(KubernetesApi(home, record))[-lines:]
    names = log_names(name)
    if log not in names:
        raise ProblemsFound(
            [
                Problem(
                    rule="sandbox-log",
                    path="log",
                    value=log,
                    why=f"sandbox {name} has no such log",
                    allowed=", ".join(names),
                    remedy="name one of these",
                )
            ]
        )
    return tail(home.logs / f"{log}.log", lines)


def _there(name: str) -> Home:
    home = home_of(name)
    if not home.folder.exists():
        raise EnvironmentProblem(f"there is no sandbox {name}; `beamline sandbox up {name}` makes one")
    return home


def _process(home: Home, record: Record, component: str) -> ProcessStatus:
    started = Started(int(record.processes[component]["pid"]), record.processes[component]["created_s"])
    log = str(home.logs / f"{component}.log")
    return ProcessStatus(component, started.pid, alive(started), memory_mib(started), log, component in SIMULATED)


def _ready(items: Iterable[Object]) -> str:
    conditions = [
        {condition["type"]: condition["status"] for condition in item["status"].get("conditions", [])} for item in items
    ]
    return f"{sum(condition.get('Ready') == 'True' for condition in conditions)}/{len(conditions)}"


def _events(api: KubernetesApi) -> list[str]:
    found = []
    for event in api.items("/api/v1/events"):
        at = str(event.get("lastTimestamp") or event.get("eventTime") or event["metadata"]["creationTimestamp"])
        about = event["involvedObject"]
        where = "/".join(filter(None, [about.get("namespace"), about["name"]]))
        found.append(f"{at} {event['type']:7} {event['reason']:20} {about['kind']} {where}: {event['message']}")
    return sorted(found)
