"""Processes that start from nothing, timed as a whole."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from stacks.problems import EnvironmentProblem

__all__ = ["BEAMLINE", "CHECKOUT", "output", "python", "seconds"]

CHECKOUT = Path(__file__).resolve().parents[1]
BEAMLINE = ("-m", "beamline.cli")
_SAID_CHARACTERS = 2000


def python(*arguments: str) -> list[str]:
    """Return the command line of a fresh interpreter, the same that runs the benchmark."""
    return [sys.executable, *arguments]


def seconds(
    command: Sequence[str],
    *,
    folder: Path = CHECKOUT,
    environment: Mapping[str, str] | None = None,
    code: int = 0,
) -> float:
    """Run a command and return its wall time from start to end; raises EnvironmentProblem for another exit code."""
    started = time.perf_counter()
    done = _run(command, folder, environment)
    took = time.perf_counter() - started
    _expect(done, code)
    return took


def output(
    command: Sequence[str],
    *,
    folder: Path = CHECKOUT,
    environment: Mapping[str, str] | None = None,
    code: int = 0,
) -> str:
    """Run a command and return what it wrote to stdout; raises EnvironmentProblem for another exit code."""
    done = _run(command, folder, environment)
    _expect(done, code)
    return done.stdout


def _run(
    command: Sequence[str], folder: Path, environment: Mapping[str, str] | None
) -> subprocess.CompletedProcess[str]:
    environ = dict(os.environ if environment is None else environment)
    environ.pop("PYTHONDONTWRITEBYTECODE", None)  # cold is the process, not its bytecode
    return subprocess.run(
        list(command), cwd=folder, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def _expect(done: subprocess.CompletedProcess[str], code: int) -> None:
    if done.returncode != code:
        said = (done.stdout + done.stderr).strip()[-_SAID_CHARACTERS:]
        shown = " ".join(done.args)[:200]
        raise EnvironmentProblem(f"{shown} ended with {done.returncode} instead of {code}:\n{said}")
