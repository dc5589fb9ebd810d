"""The Pulumi command line, asked in one folder with one environment: a user's own, or a sandbox's."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from beamline.recovery.locks import held, locks_in_message
from stacks.problems import EnvironmentProblem, Problem, ProblemsFound
from stacks.yaml_files import read_yaml

__all__ = ["NO_KEY", "Engine", "RefusedError", "as_problem", "own_engine"]

_ANSI = re.compile(r"<\{%[^%]*%\}>|\x1b\[[0-9;]*m")
NO_KEY = "state-secrets"
"""Rule of the problem that the stack's secrets cannot be read."""

_NO_LOGIN = ("PULUMI_ACCESS_TOKEN must be set", "not logged in", "problem logging in", "unable to open")
_NO_KEY = ("incorrect passphrase", "passphrase must be set", "secrets manager", "decrypt")
_BUSY = ("currently locked by", "Another update is currently in progress", "[409] Conflict")


class RefusedError(Exception):
    """Pulumi ended with an error; the text is what it said."""


@dataclass(frozen=True)
class Engine:
    """One Pulumi, where it runs and what it is told by its environment."""

    pulumi: Path
    folder: Path
    """Where Pulumi.yaml is."""
    environment: Mapping[str, str]

    @property
    def project(self) -> str:
        """Name of the Pulumi project."""
        return str(read_yaml(self.folder / "Pulumi.yaml")["name"])

    def ask(self, *arguments: str) -> str:
        """Run one command and return its output. Raises RefusedError with what it said when it fails."""
        done = subprocess.run(
            [str(self.pulumi), *arguments, "--non-interactive"],
            cwd=self.folder,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RefusedError(_ANSI.sub("", f"{done.stderr}\n{done.stdout}").strip())
        return done.stdout

    def must(self, stack: str, *arguments: str) -> str:
        """Run one command on a stack; a refusal is a problem. Raises ProblemsFound or EnvironmentProblem."""
        try:
            return self.ask(*arguments, "--stack", stack)
        except RefusedError as refusal:
            raise as_problem(str(refusal), stack, arguments[:2]) from refusal

    def follow(self, stack: str, *arguments: str) -> int:
        """Run a long command, its words going to stderr as they come, and return its exit code."""
        sys.stderr.flush()
        return subprocess.run(
            [str(self.pulumi), *arguments, "--stack", stack, "--non-interactive"],
            cwd=self.folder,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr.fileno(),
            check=False,
        ).returncode

    def backend(self) -> str:
        """Return the address of the backend that is logged in to. Raises EnvironmentProblem where there is none."""
        try:
            return str(json.loads(self.ask("whoami", "--json")).get("url", ""))
        except (RefusedError, ValueError) as error:
            raise EnvironmentProblem(
                f"no Pulumi backend can be reached: {error}; `pulumi login` chooses one"
            ) from error

    def refresh(self, stack: str, targets: Sequence[str]) -> None:
        """Let the engine read resources again. Raises ProblemsFound."""
        chosen = [argument for urn in targets for argument in ("--target", urn)]
        self.must(stack, "refresh", "--yes", "--skip-preview", "--skip-pending-creates", *chosen)

    def tool(self, name: str) -> str | None:
        """Return the path of another program, as this environment finds it."""
        return shutil.which(name, path=self.environment.get("PATH", os.defpath))


def own_engine(folder: Path) -> Engine:
    """Return the user's own Pulumi, with their login. Raises EnvironmentProblem when there is none."""
    found = shutil.which("pulumi")
    if found is None:
        raise EnvironmentProblem(
            "pulumi is not on PATH; recover and down work on its state: "
            "https://www.pulumi.com/docs/install/ says how to get it"
        )
    return Engine(Path(found), folder, {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"})


def as_problem(said: str, stack: str, command: Sequence[str]) -> EnvironmentProblem | ProblemsFound:
    """Return what Pulumi said as what the user has to do about it."""
    if any(words in said for words in _NO_LOGIN):
        return EnvironmentProblem(f"no Pulumi backend can be reached: {said}; `pulumi login` chooses one")
    if locks := locks_in_message(said):
        return ProblemsFound([held(lock, stack) for lock in locks])
    rule, why, remedy = "engine", _error(said), "mend what it names and repeat: recover takes up where it stopped"
    if "no stack named" in said:
        rule, why = "unknown-stack", f"the backend that is logged in to has no stack {stack!r} of this project"
        remedy = "`pulumi stack ls` lists the stacks, `pulumi whoami -v` names the backend"
    elif any(words in said for words in _BUSY):
        rule, remedy = (
            "stack-locked",
            f"wait until it ends; if it was killed, `pulumi cancel --yes --stack {stack}` and repeat",
        )
    elif any(words in said for words in _NO_KEY):
        rule = NO_KEY
        remedy = "give Pulumi the key of this stack's secrets, such as PULUMI_CONFIG_PASSPHRASE, and repeat"
    return ProblemsFound(
        [Problem(rule=rule, path=f"pulumi {' '.join(command)}", value=stack, why=why, remedy=remedy, source="Pulumi")]
    )


def _error(said: str) -> str:
    found = [line.strip() for line in said.splitlines() if "error:" in line]
    return "; ".join(dict.fromkeys(line.partition("error:")[2].strip() for line in found)) or said
