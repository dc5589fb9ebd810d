"""Every command says exactly what its golden file holds; nothing is cut, and a second run says the same."""

from __future__ import annotations

import pytest

from tests.cli.command import run
from tests.cli.golden import COMMANDS, golden_file, whole


@pytest.mark.parametrize("name", COMMANDS)
def test_output_is_the_golden_one(name: str) -> None:
    assert whole(run(*COMMANDS[name])) == golden_file(name).read_text(encoding="utf-8"), "if right: make golden"


def test_every_golden_file_belongs_to_a_command() -> None:
    kept = {path.stem for path in golden_file("x").parent.iterdir()}
    assert kept == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_lines_are_whole_and_end_in_text(name: str) -> None:
    lines = golden_file(name).read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line != line.rstrip() or "…" in line] == []
