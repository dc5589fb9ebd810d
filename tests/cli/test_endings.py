"""Exit codes, and what goes where: 0 fine, 1 problems, 2 wrong usage, 3 environment, 130 interrupted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from beamline import __version__
from beamline.cli import planning, presets
from stacks.problems import EnvironmentProblem
from tests.cli.command import run
from tests.cli.golden import MISTAKES

CODES: dict[str, tuple[list[str], int]] = {
    "a version": (["--version"], 0),
    "help of a verb": (["plan", "--help"], 0),
    "presets": (["presets"], 0),
    "a stack without errors": (["plan", "g4"], 0),
    "a stack with errors": (["plan", MISTAKES], 1),
    "a stack that is not there": (["plan", "g4-lmd"], 1),
    "a file that is not there": (["plan", "nowhere/Pulumi.g4.yaml"], 1),
    "a preset that is not there": (["presets", "nothing"], 1),
    "one bad stack among good ones": (["check", "g4", MISTAKES], 1),
    "no verb": ([], 2),
    "an unknown verb": (["plann", "g4"], 2),
    "an unknown option": (["plan", "g4", "--jsn"], 2),
    "a missing argument": (["plan"], 2),
    "a missing option": (["render", "g4"], 2),
    "an assignment without a value": (["plan", "g4", "--set", "zone"], 2),
}


@pytest.mark.parametrize("name", CODES)
def test_exit_code(name: str) -> None:
    arguments, code = CODES[name]
    ran = run(*arguments)
    assert (ran.code, "Traceback" in ran.stdout + ran.stderr) == (code, False)


@pytest.mark.parametrize("name", [name for name, (_, code) in CODES.items() if code == 2 and name != "no verb"])
def test_wrong_usage_is_said_on_stderr_and_leaves_stdout_empty(name: str) -> None:
    ran = run(*CODES[name][0])
    assert ran.stdout == ""
    assert ran.stderr.startswith("Usage: beamline")


def test_problems_are_the_result_and_stderr_stays_quiet() -> None:
    ran = run("plan", MISTAKES)
    assert ran.stderr == ""
    assert ran.stdout.count("error[") == 5


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_trouble_with_the_machine_is_said_on_stderr(flags: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object) -> None:
        raise EnvironmentProblem("no disk; buy one")

    monkeypatch.setattr(planning, "_graph", fails)
    ran = run("plan", "g4", *flags)
    assert (ran.code, ran.stdout, ran.stderr) == (3, "", "no disk; buy one\n")


def test_an_interruption_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(presets, "select_preset", interrupted)
    ran = run("presets")
    assert (ran.code, ran.stdout, ran.stderr) == (130, "", "interrupted\n")


def test_the_module_runs_as_a_program() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "beamline.cli", "--version"], capture_output=True, text=True, check=True
    )
    assert (ran.stdout, ran.stderr) == (f"beamline {__version__}\n", "")


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    """As in `beamline presets | head -0`."""
    with subprocess.Popen(
        [sys.executable, "-m", "beamline.cli", "presets"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as command:
        assert command.stdout is not None
        assert command.stderr is not None
        command.stdout.close()
        said = command.stderr.read()
    assert said == ""
