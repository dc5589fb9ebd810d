"""What was found in one stack, where its file is, and what makes two problems the same one."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from stacks.problems import Problem

__all__ = ["Verdict", "fingerprint"]


@dataclass(frozen=True)
class Verdict:
    """What was found in one stack, sorted. ``file`` is what a user edits: its stack file, or its preset's.

    ``known`` is what a baseline has as well; ``problems`` are the others.
    """

    stack: str
    preset: str | None
    file: Path
    problems: tuple[Problem, ...]
    known: tuple[Problem, ...] = ()

    @property
    def title(self) -> str:
        """The name its user knows: a preset's stack can have a shorter one."""
        return self.stack if self.preset is None or self.file.name.startswith("Pulumi.") else self.preset


def fingerprint(stack: str, rule: str, path: str) -> str:
    """Return what stays the same while lines move and values change, as a hash."""
    return hashlib.sha256(json.dumps([stack, rule, path]).encode()).hexdigest()
