"""Runs the command line in this process, as a pipe sees it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from typer.testing import CliRunner

from beamline.cli import app

__all__ = ["Ran", "run"]


@dataclass(frozen=True)
class Ran:
    """What one command wrote, and how it ended."""

    code: int
    stdout: str
    stderr: str

    def json(self) -> Any:
        """Return stdout as the one JSON document it has to be."""
        return json.loads(self.stdout)


def run(*arguments: str) -> Ran:
    """Run ``beamline`` with arguments; a defect of the kit is raised, not caught."""
    environment = {"COLUMNS": "80"}  # what help texts wrap at
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False, prog_name="beamline", env=environment)
    return Ran(int(result.exit_code), result.stdout, result.stderr)
