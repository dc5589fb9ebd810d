"""Builds one program from its pinned Go module into the cache.

The folder's name carries a hash of everything that decides what comes out: the module's files, the package, the linker
flags, the Go version and the platform. A changed pin is thus another folder, and an old one is never taken for it.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import signal
import subprocess
import time
from pathlib import Path

from beamline.toolchain.cache import making
from beamline.toolchain.catalog import Program
from beamline.toolchain.golang import Go, choose_go, go_environment, install_go
from beamline.toolchain.machine import Machine
from stacks.problems import EnvironmentProblem

__all__ = ["build", "build_seconds", "built_path"]

_TAIL_LINES = 15


def built_path(program: Program, machine: Machine) -> Path:
    """Return where the built program is, or will be."""
    go = choose_go(machine.modules / program.module, machine)
    return _folder(program, go, machine) / program.name


def build_seconds(path: Path) -> float | None:
    """Return how long the program at ``path`` took to build, as recorded beside it."""
    try:
        record = json.loads(path.with_name("build.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return float(record["seconds"])


def build(program: Program, machine: Machine) -> Path:
    """Build ``program`` unless the cache holds it, and return its path.

    Raises EnvironmentProblem with the program's name, the end of Go's output and what to do.
    """
    go = choose_go(machine.modules / program.module, machine)
    folder = _folder(program, go, machine)
    if not folder.is_dir():
        install_go(go, machine)
        with making(folder) as work:
            if work is not None:
                _go_build(program, go, machine, work)
    return folder / program.name


def _arguments(program: Program) -> list[str]:
    flags = ["-s", "-w", *(f"-X {variable}={value}" for variable, value in program.stamps.items())]
    return ["build", "-trimpath", "-mod=readonly", "-buildvcs=false", "-ldflags", " ".join(flags)]


def _folder(program: Program, go: Go, machine: Machine) -> Path:
    module = machine.modules / program.module
    digest = hashlib.sha256()
    for path in sorted(p for p in module.rglob("*") if p.suffix in (".mod", ".sum", ".go")):
        digest.update(f"{path.relative_to(module)}\0".encode())
        digest.update(path.read_bytes())
    built_as = [program.package, _arguments(program), str(go.version), platform.system(), platform.machine()]
    digest.update(json.dumps(built_as).encode())
    return machine.cache / "tools" / f"{program.name}-{digest.hexdigest()[:16]}"


def _go_build(program: Program, go: Go, machine: Machine, work: Path) -> None:
    started = time.monotonic()
    output = work / "build.log"
    command = [str(go.path), *_arguments(program), "-o", str(work / program.name), program.package]
    code = _run(command, machine.modules / program.module, go_environment(machine), output)
    if code != 0:
        tail = output.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-_TAIL_LINES:]
        lines = "\n".join(f"  {line}" for line in tail) or "  (no output)"
        raise EnvironmentProblem(
            f"building {program.name} {program.version} with Go {go.version} ({go.path}) failed:\n{lines}\n"
            f"Put {program.name} {program.supported} on PATH, or run `make tools` again once the cause is gone "
            f"(Go needs the module proxy, and about 5 GB free under its build cache)"
        )
    record = {"program": program.name, "version": str(program.version), "go": str(go.version)}
    record["seconds"] = f"{time.monotonic() - started:.1f}"
    (work / "build.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _run(command: list[str], folder: Path, environment: dict[str, str], output: Path) -> int:
    """Run ``command`` with its output in a file; whatever interrupts this ends Go's compilers with it."""
    with output.open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, process_group=0
        )
        try:
            return process.wait()
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
