"""What a baseline has is known and counts no more; what is new does, and a file that is none is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from beamline.check_formats import Verdict, to_annotations, to_junit, to_sarif
from stacks.problems import Problem
from stacks.settings import STACKS_DIR
from tests.cli.command import run
from tests.cli.golden import MISTAKES


def _rules(problems: list[dict[str, str]]) -> set[str]:
    return {problem["rule"] for problem in problems if problem["severity"] == "error"}


@pytest.fixture
def before(tmp_path: Path) -> Path:
    """A baseline with two of the five mistakes in it, one of them with another value."""
    (stack,) = run("check", MISTAKES, "--json").json()["stacks"]
    stack["problems"] = [p for p in stack["problems"] if p["rule"] in ("local-ssd-count", "zone-region")]
    stack["problems"][0]["value"] = "another"
    file = tmp_path / "before.json"
    file.write_text(json.dumps({"stacks": [stack]}))
    return file


def test_what_is_known_is_set_apart(before: Path) -> None:
    ran = run("check", MISTAKES, "--json", "--baseline", str(before))
    (stack,) = ran.json()["stacks"]
    assert ran.code == 1
    assert _rules(stack["known"]) == {"local-ssd-count", "zone-region"}
    assert _rules(stack["problems"]) == {"engine-too-old", "unknown-key", "wrong-value"}


def test_a_baseline_with_all_of_it_ends_well_and_is_its_own_baseline(tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    first.write_text(run("check", MISTAKES, "--json").stdout)
    again = run("check", MISTAKES, "--json", "--baseline", str(first))
    second.write_text(again.stdout)
    assert (again.code, run("check", MISTAKES, "--baseline", str(second)).code) == (0, 0)


def test_what_is_gone_is_said(before: Path) -> None:
    text = before.read_text().replace("zone-region", "zone-reason").replace("local-ssd-count", "local-ssd-counts")
    before.write_text(text)
    assert "2 problems of the baseline are gone" in run("check", MISTAKES, "--baseline", str(before)).stderr


def test_another_stack_has_another_baseline(before: Path) -> None:
    before.write_text(before.read_text().replace('"mistakes"', '"other"'))
    (stack,) = run("check", MISTAKES, "--json", "--baseline", str(before)).json()["stacks"]
    assert "known" not in stack


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "[]",
        "{",
        '{"stacks": 3}',
        '{"stacks": [{"stack": "g4"}]}',
        '{"stacks": [{"stack": 1, "problems": []}]}',
        "\x00",
    ],
)
def test_a_file_that_is_none_is_refused(text: str | None, tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    if text is not None:
        file.write_text(text)
    ran = run("check", MISTAKES, "--baseline", str(file))
    assert ran.code == 1
    assert "error[baseline] --baseline" in ran.stdout
    assert "Traceback" not in ran.stdout + ran.stderr


def test_formats_for_ci_tell_known_from_new() -> None:
    new = Problem(rule="new", path="zone", why="w", remedy="r")
    known = Problem(rule="known", path="region", why="w", remedy="r")
    verdicts = [Verdict("g4", "g4-llmd", STACKS_DIR / "Pulumi.g4.yaml", (new,), (known,))]
    results = json.loads(to_sarif(verdicts))["runs"][0]["results"]
    assert [(r["ruleId"], r["baselineState"]) for r in results] == [("new", "new"), ("known", "unchanged")]
    assert 'failures="1"' in to_junit(verdicts)
    assert [line.count("known") for line in to_annotations(verdicts).splitlines()] == [0]
