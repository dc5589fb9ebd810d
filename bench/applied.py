"""A stack that is up in a sandbox of the benchmark's own, gone when it is over.

Real are Pulumi's engine and Kubernetes provider, etcd, the API server, scheduler and controller manager. SIMULATED are
Google Cloud, kubelets, GKE's controllers, chart registries and the operators that charts install.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beamline import sandbox
from beamline.sandbox import Report
from bench import cold
from stacks import StackSpec, resolve
from stacks.problems import EnvironmentProblem
from stacks.settings import pulumi_config, read_stack_file

__all__ = ["Applied", "applied"]

_HOME = "BEAMLINE_HOME"
_READY_LIMIT_S = 60.0
_LOOK_EVERY_S = 0.5


@dataclass(frozen=True)
class Applied:
    """The sandbox of one stack."""

    name: str
    folder: Path
    """The Pulumi project."""
    environment: Mapping[str, str]
    """For Pulumi and kubectl; both are the sandbox's."""

    def pulumi(self, verb: str, *arguments: str) -> list[str]:
        """Return the command line of a Pulumi verb on the stack."""
        return ["pulumi", *verb.split(), "--stack", self.name, "--non-interactive", *arguments]

    def seconds(self, command: Sequence[str]) -> float:
        """Run a command in the sandbox and return its wall time; raises EnvironmentProblem when it fails."""
        return cold.seconds(command, folder=self.folder, environment=self.environment)

    def run(self, command: Sequence[str]) -> str:
        """Run a command in the sandbox and return its output; raises EnvironmentProblem when it fails."""
        return cold.output(command, folder=self.folder, environment=self.environment)

    def state(self) -> list[dict[str, Any]]:
        """Return the engine's resources, each after those it depends on."""
        found: list[dict[str, Any]] = json.loads(self.run(self.pulumi("stack export")))["deployment"]["resources"]
        return found

    def spec(self) -> StackSpec:
        """Return the stack as applied: its stack file with the simulated project's name."""
        file = self.folder / "stacks" / f"Pulumi.{self.name}.yaml"
        return resolve(self.name, pulumi_config(read_stack_file(file)), where=file.name, applying=False)

    def require_ready(self, after: str) -> None:
        """Wait until all pods are ready; raises EnvironmentProblem where one side's work did not get that far."""
        deadline = time.monotonic() + _READY_LIMIT_S
        while True:
            found = sandbox.status(self.name)
            ready, _, wanted = found.pods.partition("/")
            if not found.problems and ready == wanted and int(wanted or 0):
                return
            if time.monotonic() > deadline:
                said = "; ".join(f"{problem.path}: {problem.why}" for problem in found.problems)
                raise EnvironmentProblem(f"after {after} {found.pods or 'no'} pods are ready; {said}")
            time.sleep(_LOOK_EVERY_S)


@contextmanager
def applied(stack: str, file: Path, report: Report) -> Iterator[Applied]:
    """Apply a stack file in a new sandbox under a temporary folder; end it afterwards, whatever happened."""
    with tempfile.TemporaryDirectory(prefix="beamline-bench-") as home, _sandboxes_in(home):
        try:
            sandbox.up(stack, file, report=report)
            shell = sandbox.shell(stack)
            # Without it the engine's event log is not to be had.
            environment = {**shell.environment, "PULUMI_DEBUG_COMMANDS": "true"}
            yield Applied(stack, shell.folder, environment)
        finally:
            sandbox.down(stack, force=True)


@contextmanager
def _sandboxes_in(home: str) -> Iterator[None]:
    before = os.environ.get(_HOME)
    os.environ[_HOME] = home
    try:
        yield
    finally:
        if before is None:
            del os.environ[_HOME]
        else:
            os.environ[_HOME] = before
