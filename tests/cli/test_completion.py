"""The shell is offered names that exist."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from beamline.cli import app
from beamline.cli.completion import (
    complete_hardware,
    complete_preset,
    complete_sandbox,
    complete_stack_or_preset,
    stack_names,
)
from tests.shipped import SHIPPED


def test_names_are_offered_by_their_beginning() -> None:
    assert complete_stack_or_preset("g4") == ["g4", *(name for name in SHIPPED if name.startswith("g4"))]
    assert complete_stack_or_preset("g4-llmd-d") == ["g4-llmd-d", "g4-llmd-d1", "g4-llmd-d2"]
    assert complete_hardware("g4-standard-4") == ["g4-standard-48"]
    assert complete_preset("sm") == ["small-l4"]
    assert complete_stack_or_preset("nothing") == []


def test_a_stack_is_what_has_a_file() -> None:
    files = Path(__file__).parents[2].glob("stacks/Pulumi.*.yaml")
    assert stack_names() == sorted(file.name.split(".")[1] for file in files)


def test_sandboxes_are_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEAMLINE_HOME", str(tmp_path))
    (tmp_path / "sandboxes" / "g4").mkdir(parents=True)
    assert (complete_sandbox("g"), complete_sandbox("x")) == (["g4"], [])


def test_the_shell_really_asks_us() -> None:
    asked = {"_BEAMLINE_COMPLETE": "complete_bash", "COMP_WORDS": "beamline plan g4-llmd-d", "COMP_CWORD": "2"}
    ran = CliRunner().invoke(app, [], prog_name="beamline", env=asked)
    assert ran.stdout.split() == ["g4-llmd-d", "g4-llmd-d1", "g4-llmd-d2"]
