"""What was found in one stack, and where its file is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from stacks.problems import Problem

__all__ = ["Verdict"]


@dataclass(frozen=True)
class Verdict:
    """What was found in one stack, sorted. ``file`` is what a user edits: its stack file, or its preset's."""

    stack: str
    preset: str | None
    file: Path
    problems: tuple[Problem, ...]

    @property
    def title(self) -> str:
        """The name its user knows: a preset's stack can have a shorter one."""
        return self.stack if self.preset is None or self.file.name.startswith("Pulumi.") else self.preset
