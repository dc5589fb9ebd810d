"""A stack in a sandbox, worked on with ``pulumi`` as its user would: nothing in between mends anything."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from beamline import sandbox, toolchain
from beamline.sandbox import project
from beamline.sandbox.home import CHECKOUT, Home, Record, home_of
from beamline.sandbox.kubernetes_api import KubernetesApi
from beamline.sandbox.processes import MARKER
from stacks.cloud import PLACEHOLDER_PROJECT, PLACEHOLDER_SUB_BLOCK

__all__ = ["Ran", "Stack", "opened"]

LIMIT_S = 600
"""What no command here takes; one that does hangs."""
_TIME_SCALE = 200.0
"""Slower than usual: an operation takes long enough to be killed in."""
_NOTHING = CHECKOUT / "tests" / "end_to_end" / "programs" / "nothing"


@dataclass(frozen=True)
class Ran:
    """One Pulumi command that ended."""

    code: int
    output: str


@dataclass(frozen=True)
class Stack:
    """One stack: its files, its Pulumi, its cloud and cluster."""

    name: str
    preset: str
    home: Home
    folder: Path
    tools: Mapping[str, Path] = field(default_factory=dict)

    def configure(self, overrides: Mapping[str, Any]) -> None:
        """Write the stack file, and with it what the next run will make."""
        config = {
            "beamline:preset": self.preset,
            "beamline:project": PLACEHOLDER_PROJECT,
            "beamline:region": "us-central1",
            "beamline:zone": "us-central1-b",
            "beamline:overrides": dict(overrides),
        }
        if "a4x" in self.preset:
            config["beamline:reservation"] = PLACEHOLDER_SUB_BLOCK
        file = self.folder / f"Pulumi.{self.name}.yaml"
        file.write_text(yaml.safe_dump({"config": config}))
        project.prepare(self.home, self.name, file, CHECKOUT, self.tools, self.record.ports["charts"])

    @property
    def record(self) -> Record:
        """What the sandbox runs."""
        found = Record.load(self.home)
        assert found is not None
        return found

    @property
    def api(self) -> KubernetesApi:
        """The API server."""
        return KubernetesApi(self.home, self.record)

    def pulumi(self, *arguments: str) -> Ran:
        """Run one command to its end."""
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.home.project,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
        )
        return Ran(done.returncode, done.stdout + done.stderr)

    def command(self, *arguments: str) -> list[str]:
        """Return one Pulumi command."""
        return [str(self.home.bin / "pulumi"), *arguments, "--stack", self.name, "--non-interactive"]

    def environment(self) -> dict[str, str]:
        """Return what Pulumi is told; its processes are the sandbox's, which ends what a killed engine leaves."""
        return {**sandbox.shell(self.name).environment, MARKER: str(self.home.folder), "PULUMI_DEBUG_COMMANDS": "true"}

    def state(self) -> dict[str, Any]:
        """Return the exported state."""
        done = subprocess.run(
            self.command("stack", "export"),
            cwd=self.home.project,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=True,
            timeout=LIMIT_S,
        )
        found: dict[str, Any] = json.loads(done.stdout)["deployment"]
        return found


def opened(name: str, preset: str, folder: Path) -> Stack:
    """Start a sandbox with nothing in it but an empty stack."""
    stack = Stack(name, preset, home_of(name), folder, toolchain.ensure(project.TOOLS))
    file = folder / f"Pulumi.{name}.yaml"
    file.write_text(yaml.safe_dump({"config": {}}))
    sandbox.up(name, file, _NOTHING, time_scale=_TIME_SCALE)
    return stack
