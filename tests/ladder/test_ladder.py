"""Every rung changes what its golden file says, and nothing else; neighbours are found by their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ladder.golden import FOLDER, golden_file, told
from tests.ladder.rungs import BESIDE_LADDERS, PAIRS, neighbours


@pytest.mark.parametrize(("lower", "upper"), PAIRS, ids=map("--".join, PAIRS))
def test_a_rung_changes_exactly_what_was_reviewed(lower: str, upper: str) -> None:
    assert told(lower, upper) == golden_file(lower, upper).read_text(encoding="utf-8"), "if right: make golden"


def test_every_golden_file_belongs_to_a_pair() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {golden_file(*pair).name for pair in PAIRS}


@pytest.mark.parametrize(("lower", "upper"), PAIRS, ids=map("--".join, PAIRS))
def test_a_golden_file_is_readable(lower: str, upper: str) -> None:
    lines = golden_file(lower, upper).read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > 120 or line != line.rstrip()] == []


def test_neighbours_are_rungs_of_one_shape_that_extend_one_another(tmp_path: Path) -> None:
    """Neither a fork of a rung, nor a rung on something that is none, nor one of another shape."""
    extends = {
        "big-a": "big",
        "big-b1": "big-a",
        "big-c3": "big-b1",
        "big-d1": "big-c3",
        "big-d2": "big-c3",
        "big-d": "big-d2",
        "small-a": "big-a",
        "small-b1": "small-a",
        "mine": "big-b1",
        "big-b4": "big-b1",
        "big-bf16": "big-a",
    }
    for name, base in extends.items():
        (tmp_path / f"{name}.yaml").write_text(f"extends: {base}\n")
    (tmp_path / "big.yaml").write_text("description: the base\n")
    assert neighbours(tmp_path) == [
        ("big-a", "big-b1"),
        ("big-b1", "big-c3"),
        ("big-d2", "big-d"),
        ("big-c3", "big-d1"),
        ("big-c3", "big-d2"),
        ("small-a", "small-b1"),
    ]


def test_pairs_beside_the_ladders_are_no_rungs() -> None:
    assert set(BESIDE_LADDERS) & set(neighbours()) == set()
