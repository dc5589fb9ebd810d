"""Finds a program that is on the machine already, in a version the sandbox supports.

Nobody should wait minutes for a build of what they have: PATH counts for every program, ``KUBEBUILDER_ASSETS`` for the
servers that controller developers keep there, and Pulumi's own plugin folder for its providers.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from beamline.toolchain.catalog import Program, Version
from beamline.toolchain.machine import Machine

__all__ = ["Located", "locate", "official_language_host", "version_of"]

_ANSWER_TIMEOUT_S = 30
"""A program that has not printed its version by then is not one we can use."""


@dataclass(frozen=True)
class Located:
    """A program found on the machine, and where it came from."""

    path: Path
    version: Version
    origin: str


def version_of(program: Program, path: Path) -> Version | None:
    """Ask the program at ``path`` for its version; None when it gives none."""
    if not program.ask:
        return None
    try:
        done = subprocess.run(
            [str(path), *program.ask],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_ANSWER_TIMEOUT_S,
            check=False,
            env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = program.answer.search(done.stdout)
    return Version.parse(found.group(1)) if found else None


def locate(program: Program, machine: Machine) -> Located | None:
    """Return the first copy on the machine in a supported version, or None."""
    for origin, path, known in _candidates(program, machine):
        version = known or version_of(program, path)
        if version is not None and program.supports(version):
            return Located(path, version, origin)
    return None


def official_language_host(pulumi: Path) -> Path | None:
    """Return Pulumi's own Python language host where it is installed beside ``pulumi``, else None.

    Official releases ship the two together; a pulumi built from its Go module comes alone.
    """
    host = pulumi.resolve().with_name("pulumi-language-python")
    return host if os.access(host, os.X_OK) else None


def _candidates(program: Program, machine: Machine) -> Iterator[tuple[str, Path, Version | None]]:
    """Yield (origin, path, version where the place already tells it), best first."""
    if (on_path := machine.which(program.name)) is not None:
        yield "PATH", on_path, None
    if assets := machine.environ.get("KUBEBUILDER_ASSETS"):
        path = Path(assets) / program.name
        if os.access(path, os.X_OK):
            yield "KUBEBUILDER_ASSETS", path, None
    yield from _pulumi_plugins(program, machine)


def _pulumi_plugins(program: Program, machine: Machine) -> Iterator[tuple[str, Path, Version | None]]:
    """Yield plugins that an installed Pulumi has fetched, newest first: ``resource-kubernetes-v4.34.2/``."""
    if not program.name.startswith("pulumi-resource-"):
        return
    home = machine.environ.get("PULUMI_HOME") or str(Path(machine.environ.get("HOME", "/")) / ".pulumi")
    prefix = program.name.removeprefix("pulumi-") + "-v"
    found = []
    for folder in Path(home).glob(f"plugins/{prefix}*"):
        version = Version.parse(folder.name.removeprefix(prefix))
        if version is not None and os.access(folder / program.name, os.X_OK):
            found.append((version, folder / program.name))
    for version, path in sorted(found, reverse=True):
        yield "Pulumi plugins", path, version
