"""Exit codes, and what goes where: 0 fine, 1 problems, 2 wrong usage, 3 environment, 130 interrupted."""

from __future__ import annotations

import json
import os
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
    "a question that nobody can answer": (["recover", "g4"], 2),
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
    def fails(*_: object) -> None:
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


def _shell(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``command`` in a shell, ``$beamline`` being this one; the exit code is that of the command line."""
    return subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "beamline": f"{sys.executable} -m beamline.cli", **environment},
    )


STREAMS: dict[str, tuple[str, int, str]] = {
    "a reader that has read enough": ("$beamline presets | true; exit ${PIPESTATUS[0]}", 141, ""),
    "a closed stdout": ("$beamline presets >&-", 3, "the result cannot be written: stdout is closed\n"),
    "a full disk": (
        "$beamline presets > /dev/full",
        3,
        "the result cannot be written: No space left on device\n",
    ),
    "a full disk, JSON": (
        "$beamline presets --json > /dev/full",
        3,
        "the result cannot be written: No space left on device\n",
    ),
    "a closed stderr": ("$beamline render g4 --out $OUT 2>&- >/dev/null", 0, ""),
    "a stderr that takes nothing": ("$beamline render g4 --out $OUT 2>/dev/full >/dev/null", 0, ""),
}


@pytest.mark.parametrize("name", STREAMS)
def test_streams_that_take_nothing_are_no_traceback(name: str, tmp_path: Path) -> None:
    """Progress may be lost; a result that is not written is an error, except to a reader that has read enough."""
    command, code, stderr = STREAMS[name]
    ran = _shell(command, OUT=str(tmp_path))
    assert (ran.returncode, ran.stderr) == (code, stderr)


def test_what_a_terminal_cannot_write_is_escaped(tmp_path: Path) -> None:
    """Where stdout is ASCII or Latin-1, other characters are escaped in text and in JSON."""
    file = tmp_path / "Pulumi.g4.yaml"
    file.write_text('config: {"beamline:preset": "日本"}', encoding="utf-8")
    text = _shell(f"$beamline plan {file}", PYTHONIOENCODING="latin-1")
    data = _shell(f"$beamline plan {file} --json", PYTHONIOENCODING="ascii")
    assert (text.returncode, text.stderr, r"preset = \u65e5\u672c" in text.stdout) == (1, "", True)
    assert "日本" in {problem["value"] for problem in json.loads(data.stdout)["problems"]}


def test_text_of_others_does_not_steer_the_terminal(tmp_path: Path) -> None:
    """Control characters in keys and values of a stack file are written out."""
    file = tmp_path / "Pulumi.g4.yaml"
    keys = r'"\e[31mred": 1, "beamline:overrides": {"\e]0;title\a": 1, "a\nerror[b]": 2}'
    file.write_text(f'config: {{"beamline:preset": "\\e[2J", {keys}}}', encoding="utf-8")
    ran = run("plan", str(file))
    assert (ran.code, [c for c in ran.stdout if not c.isprintable() and c != "\n"]) == (1, [])
    assert not [line for line in ran.stdout.splitlines() if line.startswith("error[b]")]


@pytest.mark.parametrize("place", ["x" * 300 + "/Pulumi.g4.yaml", "x" * 300 + ".yaml", r"$'a\xff.yaml'"])
def test_a_path_that_cannot_exist_is_a_file_that_is_not_there(place: str) -> None:
    """Too long, or not even text."""
    ran = _shell(f"$beamline plan {place}")
    assert (ran.returncode, ran.stderr, "error[yaml]" in ran.stdout) == (1, "", True)


def test_a_folder_without_access_is_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may read everything, so the system's answer is played."""

    def denied(self: Path, *_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "stat", denied)
    monkeypatch.setattr(Path, "read_text", denied)
    ran = run("plan", str(tmp_path / "Pulumi.g4.yaml"))
    assert (ran.code, "the file cannot be read: Permission denied" in ran.stdout) == (1, True)
