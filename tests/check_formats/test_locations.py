"""Each problem is shown at the line that a user would change; the file decides, not the order of its keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from beamline.check_formats.locations import Location, location
from beamline.check_formats.verdicts import Verdict
from stacks.problems import Problem
from stacks.settings import STACKS_DIR

STACK = """\
# a stack
config:
  beamline:preset: g4-llmd
  region: us-central1
  beamline:zone: us-central1-b
  beamline:accept_unverified: [one,
    two]
  beamline:overrides:
    serving:
      engine: {version: 0.33.0, max_sequences: 1}
      shape:
        replicas: 2
"""
CASES = {
    "serving.engine.version": (10, 16),
    "serving.shape.replicas": (12, 9),
    "serving.shape.kind": (11, 7),
    "overrides.serving.engine": (10, 7),
    "zone": (5, 3),
    "beamline:zone": (5, 3),
    "region": (4, 3),
    "accept_unverified[1]": (7, 5),
    "project": (3, 3),
    "kv_cache.dtype": (3, 3),
    "Deployment/engine.spec.replicas": (3, 3),
    "config": (2, 1),
}


@pytest.mark.parametrize("path", CASES)
def test_the_line_is_the_one_to_change(path: str, tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.x.yaml"
    file.write_text(STACK)
    problem = Problem(rule="r", path=path, why="w", remedy="r", where=str(file))
    found = location(Verdict("x", "g4-llmd", file, (problem,)), problem)
    assert found == Location(file.as_uri(), *CASES[path])


def test_what_another_file_holds_is_shown_there() -> None:
    file = "stacks/presets/g4-llmd.yaml"
    problem = Problem(rule="r", path="serving.engine", why="w", remedy="r", where=file)
    found = location(Verdict("x", "g4-llmd", STACKS_DIR / "Pulumi.g4.yaml", (problem,)), problem)
    lines = (STACKS_DIR / "presets" / "g4-llmd.yaml").read_text().splitlines()
    assert (found.uri, lines[found.line - 1].strip()[:7], lines[found.line - 1][found.column - 1]) == (
        file,
        "engine:",
        "e",
    )


@pytest.mark.parametrize("text", [None, "", "a: [", "- 1", "\tx"])
def test_a_file_that_cannot_be_read_has_a_first_line(text: str | None, tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.x.yaml"
    if text is not None:
        file.write_text(text)
    problem = Problem(rule="yaml", path="config.beamline:zone", why="w", remedy="r", where="x")
    assert location(Verdict("x", None, file, (problem,)), problem) == Location(file.as_uri(), 1, 1)
