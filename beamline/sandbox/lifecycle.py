"""``up``, ``refresh`` and ``down``: a stack applied for real, and taken away without a trace.

Each step can be killed and repeated: what runs is recorded before it is waited for, what the engine did is in its
state, and a half-made sandbox is one that ``up`` completes and ``down`` removes.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from beamline import recovery, toolchain
from beamline.sandbox import components, control_plane, engine_state, project, pulumi_runs
from beamline.sandbox.diagnosis import diagnose
from beamline.sandbox.engine_problems import error_problems, unexpected
from beamline.sandbox.home import CHECKOUT, DEFAULT_TIME_SCALE, Home, Record, home_of, locked
from beamline.sandbox.kubernetes_api import KubernetesApi
from beamline.sandbox.leftovers import in_cloud, in_kubernetes
from beamline.sandbox.processes import Started, alive, marked, stop
from beamline.sandbox.progress import Progress, Report, silent
from beamline.sandbox.recovery import bring_in_line, engine
from beamline.sandbox.settling import settled
from beamline.sandbox.standstill import Standstill
from stacks.problems import EnvironmentProblem, Problem, ProblemsFound

__all__ = ["DownResult", "UpResult", "down", "opened", "refresh", "up"]

_SETTLE_S = 15.0
"""How long controllers may take to collect what a destroy orphaned."""


@dataclass(frozen=True)
class UpResult:
    """An applied stack."""

    name: str
    changes: Mapping[str, int]
    """Engine operation (create, update, same, ...) to number of resources."""
    verified_unchanged: bool
    """The inputs were those of the last apply, and the engine found nothing to change."""
    outputs: Mapping[str, object]
    """Stack outputs; secrets read ``[secret]``."""
    warnings: list[Problem]
    """What works here and would not on real nodes, or is accepted but not ready."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Real time by part."""


@dataclass(frozen=True)
class DownResult:
    """A sandbox that is gone."""

    name: str
    existed: bool
    destroyed: int
    """Resources the engine destroyed."""
    proven_empty: bool
    """Ledger and API server were looked at after the destroy and held nothing of the stack."""


def up(
    name: str,
    stack_file: Path,
    program: Path = CHECKOUT,
    *,
    time_scale: float = DEFAULT_TIME_SCALE,
    report: Report = silent,
) -> UpResult:
    """Apply ``program`` with ``stack_file`` in the sandbox ``name``, which is also the stack's name.

    A sandbox that exists is used on, with the time scale it was made with. Where neither program nor stack file changed
    since the last apply, the engine has to find nothing to change. Raises ProblemsFound with the engine's errors and
    Kubernetes' own reasons; EnvironmentProblem when a tool or server is missing.
    """
    home = home_of(name)
    clock = _Clock()
    with locked(home):
        record = _open(home, time_scale)
        tools = _tools()
        clock.lap("tools")
        record = control_plane.ensure_running(home, record, tools, report)
        clock.lap("control plane")
        project.prepare(home, name, stack_file, program, tools, record.ports["charts"])
        engine_state.clear_stale_locks(home)
        if not engine_state.exists(home):
            _ask(home, "stack", "select", name, "--create")
        inputs = project.fingerprint(home, name, program)
        if not record.applied or engine_state.interrupted(home):
            _recover(home, record, report)
        if record.applied == inputs:
            run = _apply_again(home, record, report)
        else:
            replace(record, applied="").save(home)
            run = _apply(home, record, report)
        warnings = settled(KubernetesApi(home, record), record.time_scale, report)
        replace(record, applied=inputs).save(home)
        clock.lap("apply")
        outputs = json.loads(_ask(home, "stack", "output", "--json", "--stack", name))
        return UpResult(name, run.changes, record.applied == inputs, outputs, warnings, clock.seconds)


@contextmanager
def opened(name: str, *, report: Report = silent) -> Iterator[recovery.Engine]:
    """Give the Pulumi of a sandbox whose servers run, held against other commands.

    Raises EnvironmentProblem when there is no such sandbox.
    """
    home = home_of(name)
    with locked(home):
        control_plane.ensure_running(home, _existing(home), _tools(), report)
        yield engine(home)


def refresh(name: str, *, report: Report = silent) -> None:
    """Compare the engine's state with the simulated cloud and the API server.

    Raises ProblemsFound with one problem for each resource that is not as the engine left it.
    """
    home = home_of(name)
    with locked(home):
        record = control_plane.ensure_running(home, _existing(home), _tools(), report)
        engine_state.clear_stale_locks(home)
        arguments = ("--yes", "--skip-preview", "--expect-no-changes", "--stack", record.name)
        run = pulumi_runs.run(home, "refresh", "refresh", *arguments, report=report)
        if run.code != 0:
            raise ProblemsFound(unexpected(home, run, "refresh", "differs from what the engine applied"))


def down(name: str, *, force: bool = False, report: Report = silent) -> DownResult:
    """Destroy the stack through the engine, prove that nothing is left, end every process and remove the folder.

    Raises ProblemsFound, with the sandbox left running to look at, when the destroy fails or leaves something behind.
    ``force`` ends and removes the sandbox without asking the engine.
    """
    home = home_of(name)
    with locked(home):
        if not home.folder.exists():
            return DownResult(name, existed=False, destroyed=0, proven_empty=False)
        record = Record.load(home)
        _end_strays(home, record)
        destroyed, proven = 0, False
        if record is not None and not force:
            destroyed, proven = _destroy(home, record, report)
        report(Progress("down", "ending processes"))
        _remove(home)
        return DownResult(name, existed=True, destroyed=destroyed, proven_empty=proven)


def _open(home: Home, time_scale: float) -> Record:
    """Return the record of a sandbox to use, ending what killed commands left; a half-made one starts afresh."""
    record = Record.load(home)
    _end_strays(home, record)
    if record is not None:
        return record
    if engine_state.exists(home):
        raise EnvironmentProblem(
            f"{home.record_file} is missing or unreadable, so the processes and ports of sandbox {home.name} are not "
            f"known; `beamline sandbox down {home.name} --force` removes the sandbox"
        )
    if home.folder.exists():
        _start_afresh(home)
    return Record(home.name, time_scale)


def _existing(home: Home) -> Record:
    record = Record.load(home)
    _end_strays(home, record)
    if record is None:
        raise EnvironmentProblem(f"there is no sandbox {home.name}; `beamline sandbox up {home.name}` makes one")
    return record


def _tools() -> dict[str, Path]:
    return toolchain.ensure([*components.TOOLS, *project.TOOLS])


def _apply(home: Home, record: Record, report: Report) -> pulumi_runs.Run:
    """Preview and apply; both are needed for what ``pulumi up`` does, each with its own log."""
    stack = ("--stack", record.name)
    report(Progress("preview", "running the program"))
    preview = pulumi_runs.run(home, "preview", "preview", *stack, report=report)
    if preview.code != 0:
        raise ProblemsFound(error_problems(home, preview, "preview"))
    standstill = Standstill(KubernetesApi(home, record), record.time_scale)
    run = pulumi_runs.run(
        home,
        "apply",
        *("up", "--yes", "--skip-preview", *stack),
        report=report,
        total=len(preview.steps),
        keep_waiting=lambda run: not control_plane.ended(home, record) and standstill.keep_waiting(run),
    )
    if run.code != 0:
        # Once interrupted, the engine only tells that it was; the reasons were collected before.
        engine = [] if run.interrupted else error_problems(home, run, "up")
        reasons = control_plane.ended(home, record) or standstill.problems or diagnose(KubernetesApi(home, record))
        raise ProblemsFound([*engine, *reasons])
    return run


def _apply_again(home: Home, record: Record, report: Report) -> pulumi_runs.Run:
    """Apply unchanged inputs: a change now means that the program is not repeatable or the cluster has drifted."""
    report(Progress("apply", "inputs unchanged; the engine must find nothing to change"))
    arguments = ("--yes", "--skip-preview", "--expect-no-changes", "--stack", record.name)
    run = pulumi_runs.run(home, "apply", "up", *arguments, report=report)
    if run.code != 0:
        raise ProblemsFound(unexpected(home, run, "up", "was changed by applying the same inputs again"))
    return run


def _recover(home: Home, record: Record, report: Report) -> None:
    """Bring the state in line after an apply that did not succeed; nothing to do for a stack that is new."""
    if engine_state.resource_count(home) == 0 and not engine_state.interrupted(home):
        return
    bring_in_line(home, record.name, report)


def _destroy(home: Home, record: Record, report: Report) -> tuple[int, bool]:
    """Destroy through the engine and prove it; return the number destroyed and whether there was anything to prove."""
    count = engine_state.resource_count(home)
    if count == 0 and not in_cloud(home.ledger) and not any(control_plane.running(record).values()):
        return 0, False
    record = control_plane.ensure_running(home, record, _tools(), report)
    in_line = bool(record.applied) and not engine_state.interrupted(home)
    replace(record, applied="").save(home)
    api = KubernetesApi(home, record)
    if engine_state.exists(home):
        engine_state.clear_stale_locks(home)
        stack = ("--stack", record.name)
        if not in_line:
            _recover(home, record, report)
        _ask(home, "state", "unprotect", "--all", "--yes", *stack)
        run = pulumi_runs.run(
            home,
            "destroy",
            *("destroy", "--yes", "--skip-preview", *stack),
            report=report,
            total=count,
            keep_waiting=lambda _: not control_plane.ended(home, record),
        )
        if run.code != 0:
            engine = [] if run.interrupted else error_problems(home, run, "destroy")
            raise ProblemsFound([*engine, *(control_plane.ended(home, record) or diagnose(api))])
    report(Progress("down", "looking for anything left behind"))
    deadline = time.monotonic() + _SETTLE_S
    while left := [*in_cloud(home.ledger), *in_kubernetes(api)]:
        if time.monotonic() > deadline:
            raise ProblemsFound(left)
        time.sleep(0.5)
    return count, True


def _remove(home: Home) -> None:
    _end_servers(home)
    shutil.rmtree(home.folder)


def _start_afresh(home: Home) -> None:
    """Remove what a half-made sandbox left, but not what somebody told the simulated cloud: ``cloud/*.yaml``."""
    _end_servers(home)
    cloud = home.folder / "cloud"
    left = [path for path in home.folder.iterdir() if path != cloud]
    made = [path for path in cloud.iterdir() if path.suffix != ".yaml"] if cloud.is_dir() else []
    for path in [*left, *made]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _end_servers(home: Home) -> None:
    stubborn = control_plane.stop_all(home)
    if stubborn:
        pids = ", ".join(str(started.pid) for started in stubborn)
        raise EnvironmentProblem(f"these processes of sandbox {home.name} would not end: {pids}; end them, then repeat")


def _end_strays(home: Home, record: Record | None) -> None:
    """End what belongs to the sandbox and is not one of its recorded servers: a killed command's Pulumi and plugins."""
    recorded = {
        int(process["pid"])
        for process in (record.processes.values() if record else ())
        if alive(Started(int(process["pid"]), process["created_s"]))
    }
    stop([started for started in marked(home.folder) if started.pid not in recorded])


def _ask(home: Home, *arguments: str) -> str:
    try:
        return pulumi_runs.ask(home, *arguments)
    except subprocess.CalledProcessError as error:
        raise EnvironmentProblem(f"pulumi {' '.join(arguments)} failed: {error.stderr.strip()}") from error


class _Clock:
    """Real seconds by part of a command."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.monotonic()

    def lap(self, part: str) -> None:
        now = time.monotonic()
        self.seconds[part] = round(now - self._last, 1)
        self._last = now
