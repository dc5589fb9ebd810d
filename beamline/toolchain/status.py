"""Where each program comes from: the machine, the cache of built ones, or nowhere yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from beamline.toolchain.build import build, build_seconds, built_path
from beamline.toolchain.catalog import Program, programs
from beamline.toolchain.locate import locate
from beamline.toolchain.machine import Machine

__all__ = ["ToolStatus", "describe", "ensure"]

Origin = Literal["PATH", "KUBEBUILDER_ASSETS", "Pulumi plugins", "built", "missing"]


@dataclass(frozen=True)
class ToolStatus:
    """One program: where it is, which version, and how long its build took."""

    program: str
    origin: str
    version: str
    path: Path | None
    build_s: float | None = None

    def to_json(self) -> dict[str, object]:
        """Return the record as JSON-ready data."""
        return {**asdict(self), "path": str(self.path) if self.path else None}


def describe(machine: Machine | None = None) -> list[ToolStatus]:
    """Say for every program where it comes from, building nothing."""
    where = machine or Machine.here()
    return [_status(program, where) for program in programs().values()]


def ensure(
    names: Iterable[str] | None = None, *, machine: Machine | None = None, console: Console | None = None
) -> dict[str, Path]:
    """Return a path for each named program (default: all), building what the machine lacks.

    Progress goes to ``console`` (default: stderr). Raises EnvironmentProblem when a build fails.
    """
    where = machine or Machine.here()
    wanted = [programs()[name] for name in (programs() if names is None else names)]
    paths: dict[str, Path] = {}
    missing: list[Program] = []
    for program in wanted:
        status = _status(program, where)
        if status.path is None:
            missing.append(program)
        else:
            paths[program.name] = status.path
    if missing:
        paths |= _build_all(missing, where, console or Console(stderr=True))
    return {program.name: paths[program.name] for program in wanted}


def _status(program: Program, machine: Machine) -> ToolStatus:
    found = locate(program, machine)
    if found is not None:
        return ToolStatus(program.name, found.origin, str(found.version), found.path)
    path = built_path(program, machine)
    if path.exists():
        return ToolStatus(program.name, "built", str(program.version), path, build_seconds(path))
    return ToolStatus(program.name, "missing", str(program.version), None)


def _build_all(missing: list[Program], machine: Machine, console: Console) -> dict[str, Path]:
    paths: dict[str, Path] = {}
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        for number, program in enumerate(missing, start=1):
            step = f"{number} of {len(missing)}: {program.name} {program.version}"
            task = progress.add_task(f"building {step}", total=None)
            if not console.is_terminal:
                console.print(f"building {step} from its Go module")
            paths[program.name] = build(program, machine)
            progress.remove_task(task)
            seconds = build_seconds(paths[program.name])
            console.print(f"built {step} in {seconds:.0f} s" if seconds is not None else f"built {step}")
    return paths
