"""The judges can say no: each property fails on an answer that breaks it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest import mock

import pytest

from manifests import render
from stacks import Problem, ProblemsFound, StackSpec, resolve
from stacks.settings import pulumi_config
from tests.fuzz.judging import answer_of, changed_silently, complaints, is_sound, refused_objects, unreported
from tests.fuzz.keys import unknown_keys
from tests.fuzz.sound import COMPOSED, SETTINGS
from tests.fuzz.tally import Tally, table

HELPFUL = Problem(rule="r", path="p", why="it cannot", remedy="do this", where="stacks/Pulumi.g4.yaml")
BASE = COMPOSED["g4-llmd"]


def _spec() -> StackSpec:
    return resolve("g4", pulumi_config(SETTINGS), where="stacks/Pulumi.g4.yaml", applying=False)


@pytest.mark.parametrize(
    "broken",
    [{"why": ""}, {"remedy": ""}, {"path": ""}, {"where": ""}, {"why": "NoneType has no len"}],
    ids=str,
)
def test_a_problem_that_does_not_help_is_found(broken: dict[str, str]) -> None:
    assert complaints([HELPFUL]) == []
    assert len(complaints([replace(HELPFUL, **broken)])) == 1


@pytest.mark.parametrize(
    ("data", "unknown"),
    [
        ({"serving": {"engin": {}}}, [("serving", "engin")]),
        ({"serving": {"kv_cache": {"offload": {"kind": "none", "gib_per_replica": 1}}}}, ["gib_per_replica"]),
        ({"serving": {"kv_cache": {"offload": {"gib_per_replica": 1}}}}, []),
        ({"serving": {"kv_cache": {"offload": {"kind": "tape", "reels": 1}}}}, []),
        ({"evidence": {"engine:vllm": {"stat": 1}}}, [("evidence", "engine:vllm", "stat")]),
        ({"serving": 5}, []),
    ],
)
def test_unknown_keys_are_those_of_no_schema(data: dict[str, Any], unknown: list[Any]) -> None:
    """A key is judged by the kind that the data names, or else the preset below."""
    found = list(unknown_keys(data, BASE))
    assert found == unknown or [path[-1] for path in found] == unknown


def test_an_unknown_key_without_a_problem_is_found() -> None:
    data = {"serving": {"engin": {}}}
    told = replace(HELPFUL, rule="unknown-key", path="serving.engin")
    assert unreported(data, BASE, [told]) == []
    assert unreported(data, BASE, [replace(told, path="serving")]) == [("serving", "engin")]
    with pytest.raises(AssertionError):
        is_sound(ProblemsFound([HELPFUL]), data, BASE)


def test_a_value_that_is_not_what_was_asked_for_is_found() -> None:
    nodes = {"accelerator_pools": {"main": {"nodes": BASE["accelerator_pools"]["main"]["nodes"]}}}
    assert changed_silently(nodes, _spec()) == []
    (said,) = changed_silently({"accelerator_pools": {"main": {"nodes": 7}}}, _spec())
    assert said.startswith("accelerator_pools.main.nodes: asked 7")
    assert changed_silently({"production": 1}, _spec()) != [], "a number is not true"
    assert changed_silently({"serving": {"engin": 1}}, _spec()) != []


def test_an_object_that_a_schema_refuses_is_found() -> None:
    spec = _spec()
    first, *others = render(spec)
    wrong = replace(first, body={**first.body, "specs": {}})
    assert refused_objects(spec) == []
    with mock.patch("tests.fuzz.judging.render", return_value=(wrong, *others)):
        assert [p.rule for p in refused_objects(spec)] == ["kubernetes-schema"]


def test_a_traceback_is_no_answer() -> None:
    with pytest.raises(ZeroDivisionError):
        answer_of(lambda: 1 // 0)  # type: ignore[arg-type, return-value]


def test_a_refusal_without_an_error_is_found() -> None:
    with pytest.raises(AssertionError):
        is_sound(ProblemsFound([replace(HELPFUL, severity="note")]), {}, BASE)


def test_the_table_adds_up() -> None:
    """Every test's line, the sum, and how often each rule refused."""
    tally = Tally("stack files")
    tally.count(_spec())
    tally.count(ProblemsFound([HELPFUL, replace(HELPFUL, path="q"), replace(HELPFUL, rule="n", severity="note")]))
    lines = table([({**vars(tally), "rules": dict(tally.rules)}, 1.5)] * 2)
    assert [line.split() for line in lines[1:4]] == [
        ["stack", "files", "2", "1", "1", "1.5"],
        ["stack", "files", "2", "1", "1", "1.5"],
        ["all", "4", "2", "2", "3.0"],
    ]
    assert lines[-1].split() == ["r", "2"]
