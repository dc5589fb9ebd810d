"""Starts, restarts and ends the servers of a sandbox.

Started servers are recorded one by one, so that a command that is killed half-way leaves a record of what runs. A
server that ends before it is ready is reported with the end of its log, at once rather than after a time-out.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import requests

from beamline.sandbox.components import PORTS, Component, components, write_configuration
from beamline.sandbox.credentials import write_kubeconfigs, write_tokens
from beamline.sandbox.home import Home, Record
from beamline.sandbox.kubernetes_api import KubernetesApi, NotFoundError
from beamline.sandbox.ports import LOOPBACK, free_ports
from beamline.sandbox.processes import Started, alive, marked, start, stop
from beamline.sandbox.progress import Progress, Report, silent
from stacks.problems import EnvironmentProblem, Problem

__all__ = ["ended", "ensure_running", "running", "stop_all", "tail"]

_READY_LIMIT_S = 120.0
_POLL_S = 0.1
_TAIL_LINES = 10
_PORT_TRIES = 3
_STOP_GRACE_S = 3.0  # the API server waits for its watchers, who are being ended too


class _DiedError(Exception):
    """A server ended before it was ready."""

    def __init__(self, component: str, lines: Sequence[str]) -> None:
        self.lines = lines
        super().__init__(component)


def running(record: Record) -> dict[str, bool]:
    """Tell for each recorded server whether it still runs."""
    return {name: alive(_started(record, name)) for name in record.processes}


def ended(home: Home, record: Record) -> list[Problem]:
    """Return one problem for each recorded server that runs no more: what waits for it waits in vain."""
    return [
        Problem(
            rule="sandbox-server",
            path=f"sandbox.{name}",
            why=f"the sandbox's {name} has ended, and the engine would wait in vain for its work",
            remedy=f"see why in {home.logs / name}.log, then run the command again: it starts what is missing",
            source="beamline sandbox",
        )
        for name, runs in running(record).items()
        if not runs
    ]


def ensure_running(home: Home, record: Record, tools: Mapping[str, Path], report: Report = silent) -> Record:
    """Start what is not running and wait until all of it answers; return the record with the new processes.

    A new sandbox gets free ports, and others if somebody takes one before the server does. An existing one keeps its
    ports and its data. Raises EnvironmentProblem naming the server that would not start, with the end of its log.
    """
    new = not record.ports
    if not new:
        record = _with_missing_ports(record)
    for attempt in range(1, _PORT_TRIES + 1):
        if new:
            record = _with_ports(record, home, free_ports(len(PORTS)))
        try:
            return _start(home, record, tools, report)
        except _DiedError as died:
            taken = any("address already in use" in line for line in died.lines)
            if taken and new and attempt < _PORT_TRIES:
                stop_all(home)
                continue
            raise _explain(home, str(died), died.lines, port_taken=taken) from None
    raise AssertionError("unreachable: the last attempt returns or raises")


def stop_all(home: Home) -> list[Started]:
    """End every process of the sandbox, recorded or not; return those that would not end."""
    return stop(marked(home.folder), grace_s=_STOP_GRACE_S)


def tail(path: Path, lines: int) -> list[str]:
    """Return the last lines of a log; empty where there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]
    except OSError:
        return []


def _start(home: Home, record: Record, tools: Mapping[str, Path], report: Report) -> Record:
    home.create()
    write_tokens(home)
    write_kubeconfigs(home, record.kubernetes["endpoint"])
    write_configuration(home, record)
    record.save(home)
    table = components(home, record, tools)
    # etcd and the API server first: the others' certificates and users are theirs.
    for wave in (table[:2], table[2:]):
        missing = [c for c in wave if not (c.name in record.processes and alive(_started(record, c.name)))]
        for component in missing:
            report(Progress("control plane", f"starting {component.name}"))
            log = home.logs / f"{component.name}.log"
            started = start(component.argv, folder=home.folder, log=log, environment=component.environment)
            record = record.with_process(component.name, started.pid, started.created_s)
            record.save(home)
        for component in wave:
            _wait(component, home, record)
    api = KubernetesApi(home, record)
    _allow_critical_pods(api)
    _wait_for_controllers(api, home)
    return record


def _wait(component: Component, home: Home, record: Record) -> None:
    """Wait until the server answers that it is ready."""
    deadline = time.monotonic() + _READY_LIMIT_S
    log = home.logs / f"{component.name}.log"
    with requests.Session() as session:
        session.trust_env = False
        if component.name == "kube-apiserver":
            token = home.admin_token_file.read_text(encoding="utf-8").strip()
            session.headers["Authorization"] = f"Bearer {token}"
        while not _answers(session, component, home):
            if not alive(_started(record, component.name)):
                raise _DiedError(component.name, tail(log, _TAIL_LINES))
            if time.monotonic() > deadline:
                raise _late(component.name, home)
            time.sleep(_POLL_S)
        if not alive(_started(record, component.name)):
            raise _DiedError(component.name, tail(log, _TAIL_LINES))


def _answers(session: requests.Session, component: Component, home: Home) -> bool:
    if not component.ready_url:
        return True
    try:
        return session.get(component.ready_url, timeout=5, verify=str(home.ca_file)).ok
    except (requests.RequestException, OSError):  # OSError: the certificate is not made yet
        return False


def _wait_for_controllers(api: KubernetesApi, home: Home) -> None:
    """Wait until the controllers work, not only answer: without its service account no pod can be made."""
    deadline = time.monotonic() + _READY_LIMIT_S
    while api.find("v1", "ServiceAccount", "default", "default") is None:
        if time.monotonic() > deadline:
            raise _late("kube-controller-manager", home)
        time.sleep(_POLL_S)


def _late(component: str, home: Home) -> EnvironmentProblem:
    log = home.logs / f"{component}.log"
    lines = "\n".join(f"  {line}" for line in tail(log, _TAIL_LINES))
    return EnvironmentProblem(f"{component} was not ready after {_READY_LIMIT_S:.0f} s; the end of {log}:\n{lines}")


def _allow_critical_pods(api: KubernetesApi) -> None:
    """Give kube-system the quota that GKE gives it; the admission rule forbids critical pods elsewhere."""
    path = "/api/v1/namespaces/kube-system/resourcequotas"
    try:
        api.get(f"{path}/gcp-critical-pods")
    except NotFoundError:
        classes = ["system-node-critical", "system-cluster-critical"]
        scope = {"scopeName": "PriorityClass", "operator": "In", "values": classes}
        spec = {"hard": {"pods": "1G"}, "scopeSelector": {"matchExpressions": [scope]}}
        api.post(path, {"metadata": {"name": "gcp-critical-pods"}, "spec": spec})


def _with_ports(record: Record, home: Home, chosen: list[int]) -> Record:
    ports = dict(zip(PORTS, chosen, strict=True))
    kubernetes = {
        "endpoint": f"{LOOPBACK}:{ports['kube-apiserver']}",
        "ca_file": str(home.ca_file),
        "kubeconfig": str(home.kubeconfig),
    }
    return replace(record, ports=ports, kubernetes=kubernetes, processes={})


def _with_missing_ports(record: Record) -> Record:
    """Give a port to what a sandbox of an older version does not have yet."""
    missing = [name for name in PORTS if name not in record.ports]
    chosen = dict(zip(missing, free_ports(len(missing)), strict=True))
    return replace(record, ports={**record.ports, **chosen})


def _started(record: Record, name: str) -> Started:
    process = record.processes[name]
    return Started(int(process["pid"]), process["created_s"])


def _explain(home: Home, component: str, lines: Sequence[str], *, port_taken: bool) -> EnvironmentProblem:
    remedy = (
        f"end the program that took the port, or give the sandbox up: `beamline sandbox down {home.name} --force`"
        if port_taken
        else f"the whole log is {home.logs / f'{component}.log'}"
    )
    text = "\n".join(f"  {line}" for line in lines) or "  (no output)"
    return EnvironmentProblem(f"{component} ended before it was ready:\n{text}\n{remedy}")
