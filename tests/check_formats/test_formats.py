"""The formats that CI reads hold every problem, whatever characters are in it, and nothing that their readers refuse.

Whole outputs are goldens of tests/cli. SARIF's own schema is not in the repository: the keys it was asked about are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from beamline.check_formats import Verdict, to_annotations, to_junit, to_sarif
from stacks.problems import Problem
from stacks.settings import STACKS_DIR

ODD = '50 % of <that>, "x": a:b,c\r\nsecond\x00\x1b[31m line ]]> \u202e \ud800'
FILE = STACKS_DIR / "Pulumi.g4.yaml"
VERDICTS = [
    Verdict(
        "g4",
        "g4-llmd",
        FILE,
        (
            Problem(rule="first", path="zone", why=ODD, remedy=ODD, value={"a": ODD}, allowed=ODD),
            Problem(rule="second", path=ODD, why="w", remedy="r", where="urn:x", severity="warning"),
            Problem(rule="second", path="zone", why="w", remedy="r", severity="note"),
        ),
    ),
    Verdict("sound", None, FILE, ()),
]


def _keys(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict) and not path.endswith(("properties.value", "partialFingerprints")):
        for key, item in value.items():
            yield f"{path}.{key}".removeprefix(".")
            yield from _keys(item, f"{path}.{key}".removeprefix("."))
    elif isinstance(value, list):
        for item in value:
            yield from _keys(item, path)


def test_sarif_has_the_keys_that_its_schema_was_asked_about() -> None:
    golden = Path(__file__).parent.parent / "cli" / "golden" / "check-mistakes-sarif.txt"
    written = json.loads(golden.read_text(encoding="utf-8").rpartition("\n[exit")[0])
    known = yaml.safe_load((Path(__file__).parent / "sarif_shape.yaml").read_text())["keys"]
    compared = json.loads(to_sarif([replace(VERDICTS[0], known=VERDICTS[0].problems[:1])]))
    assert sorted({*_keys(written), *_keys(compared)}) == known, "ask the schema again: CONTRIBUTING.md says how"


def test_sarif_holds_every_problem() -> None:
    (run,) = json.loads(to_sarif(VERDICTS))["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    found = [(rules[result["ruleIndex"]], result["ruleId"], result["level"]) for result in run["results"]]
    assert found == [("first", "first", "error"), ("second", "second", "warning"), ("second", "second", "note")]
    assert run["results"][0]["properties"]["value"] == {"a": ODD}
    assert ODD in run["results"][0]["message"]["text"]


def test_junit_counts_errors_and_passes_where_there_is_none() -> None:
    suites = ET.fromstring(to_junit(VERDICTS))  # noqa: S314 - our own text
    counts = [(s.get("name"), s.get("tests"), s.get("failures"), len(s.findall("testcase/failure"))) for s in suites]
    assert counts == [("g4", "1", "1", 1), ("sound", "1", "0", 0)]
    said = suites.findtext("testsuite/system-out") or ""
    assert said.count("[second]") == 2


def test_annotations_are_one_line_each_and_say_what_they_are_about() -> None:
    lines = to_annotations(VERDICTS).splitlines()
    heads = [line.split("::")[1] for line in lines]
    assert heads == [
        "error file=stacks/Pulumi.g4.yaml,line=6,col=3,title=g4%3A first",
        "warning file=stacks/Pulumi.g4.yaml,line=3,col=3,title=g4%3A second",
        "notice file=stacks/Pulumi.g4.yaml,line=6,col=3,title=g4%3A second",
    ]
    assert r'50 %25 of <that>, "x": a:b,c\r\nsecond\x00\x1b[31m line ]]> \u202e \ud800' in lines[0]


@pytest.mark.parametrize("write", [to_sarif, to_junit, to_annotations])
def test_nothing_to_say_is_a_whole_document(write: Any) -> None:
    assert write([]) == write([])
    if write is to_sarif:
        assert json.loads(write([]))["runs"][0]["results"] == []
