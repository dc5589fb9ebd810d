"""What the sandbox needs from other projects, as data: ``tools.yaml`` read into typed records.

Only names and version ranges live there, so a program is upgraded by editing one row and its Go module.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

__all__ = ["Program", "Version", "programs"]


class Version(NamedTuple):
    """A version as the three numbers that order it; suffixes (``-rc.1``, ``+build``) do not count."""

    major: int
    minor: int = 0
    patch: int = 0

    @classmethod
    def parse(cls, text: str) -> Version | None:
        """Read ``v1.2.3``, ``go1.26`` or ``1.2.3-gke.1``; None when the text holds no version."""
        found = re.match(r"(?:go|v)?(\d+)(?:\.(\d+))?(?:\.(\d+))?", text.strip())
        return cls(*(int(number or 0) for number in found.groups())) if found else None

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


@dataclass(frozen=True)
class Program:
    """One third-party program: where its source is pinned and which ready-made versions will do."""

    name: str
    module: str
    """Folder under ``tools/`` whose go.mod pins it."""
    package: str
    requires: str
    """Go module that carries the version, as go.mod requires it."""
    version: Version
    stamps: Mapping[str, str]
    """Linker variables set at build time; without them most programs cannot tell their version."""
    supported_from: Version
    supported_below: Version
    ask: tuple[str, ...]
    """Arguments that print the version; empty where the program has no such question."""
    answer: re.Pattern[str]

    def supports(self, version: Version) -> bool:
        """Tell whether a copy of this version found on the machine can be used."""
        return self.supported_from <= version < self.supported_below

    @property
    def supported(self) -> str:
        """The supported range as text."""
        return f">={self.supported_from}, <{self.supported_below}"


def _version(text: object) -> Version:
    version = Version.parse(str(text))
    if version is None:
        raise ValueError(f"tools.yaml: {text!r} is no version")
    return version


def _program(row: dict[str, Any]) -> Program:
    return Program(
        name=row["name"],
        module=row["module"],
        package=row["package"],
        requires=row["requires"],
        version=_version(row["version"]),
        stamps=dict(row.get("stamps", {})),
        supported_from=_version(row["supported"]["from"]),
        supported_below=_version(row["supported"]["below"]),
        ask=tuple(row.get("ask", ())),
        answer=re.compile(row.get("answer", "$^")),
    )


@cache
def programs() -> Mapping[str, Program]:
    """Return every program by name, in the order of ``tools.yaml``."""
    text = Path(__file__).with_name("tools.yaml").read_text(encoding="utf-8")
    return {program.name: program for program in map(_program, yaml.safe_load(text))}
