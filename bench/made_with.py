"""What a measurement was made with: enough to judge it, nothing that names a person's machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import psutil

from beamline import toolchain
from bench.cold import output

__all__ = ["made_with"]

_GIB = 1 << 30
_SDKS = ("pulumi", "pulumi-gcp", "pulumi-kubernetes")
_TOOLS = ("pulumi", "pulumi-resource-kubernetes", "kubectl")
_CPUINFO = Path("/proc/cpuinfo")


def made_with() -> dict[str, str]:
    """Return machine, versions, date and commit. Call it before measuring: it says how busy the machine was."""
    return {
        "machine": f"{os.cpu_count()} CPUs ({_cpu_model()}), {psutil.virtual_memory().total / _GIB:.0f} GiB memory, "
        f"{platform.system()} {platform.machine()}; load average when it began: {os.getloadavg()[0]:.1f}",
        "versions": ", ".join(f"{name} {version}" for name, version in _versions()),
        "date": datetime.now(UTC).date().isoformat(),
        "commit": _commit(),
    }


def _versions() -> Iterator[tuple[str, str]]:
    yield "Python", platform.python_version()
    yield from ((name, version(name)) for name in _SDKS)
    yield from ((tool.program, tool.version) for tool in toolchain.describe() if tool.program in _TOOLS)


def _cpu_model() -> str:
    try:
        lines = _CPUINFO.read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _commit() -> str:
    commit = output(["git", "rev-parse", "--short=12", "HEAD"]).strip()
    changed = output(["git", "status", "--porcelain", "--untracked-files=no"]).strip()
    return f"{commit}, with changes that are not committed" if changed else commit
