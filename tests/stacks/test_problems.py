"""One text and one record for every finding, the same each time, without credentials."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace

import pytest

from stacks import Problem, ProblemsFound, has_errors, ordered, to_text
from stacks.problems import problems_in, touches

FULL = Problem(
    rule="a-rule",
    path="serving.shape.replicas",
    value=2,
    why="because",
    allowed="1",
    remedy="write 1",
    where="stacks/Pulumi.g4.yaml",
    source="a page",
)
SPARE = Problem(rule="b-rule", path="cluster", why="because", remedy="do it", severity="note")
TEXT = """\
error[a-rule] serving.shape.replicas = 2
  why:     because
  allowed: 1
  remedy:  write 1
  where:   stacks/Pulumi.g4.yaml
  source:  a page
note[b-rule] cluster
  why:     because
  remedy:  do it"""


def test_text() -> None:
    """Every line that has something to say, in one order; the exception says the same."""
    assert to_text([FULL, SPARE]) == TEXT
    assert str(ProblemsFound([SPARE, FULL])) == TEXT


def test_order() -> None:
    """Errors first, then by path and rule; exact repeats once; the same text whatever the order of finding."""
    warning = Problem(rule="z", path="a", why="w", remedy="r", severity="warning")
    other = Problem(rule="a", path="a", why="w", remedy="r")
    assert ordered([SPARE, warning, FULL, other, FULL]) == [other, FULL, warning, SPARE]
    assert ordered([other, FULL, SPARE, warning]) == ordered([SPARE, warning, FULL, other])


def test_the_same_finding_in_two_files_is_two() -> None:
    """Both files have to be corrected, so both are named."""
    other = replace(FULL, where="stacks/Pulumi.a.yaml")
    assert ordered([FULL, other]) == [other, FULL]


@pytest.mark.parametrize(
    ("path", "touched"),
    [("a.b", True), ("a.b.c", True), ("a", True), ("a.bc", False), ("b", False), ("a.c", False)],
)
def test_touches(path: str, touched: bool) -> None:
    """A path touches itself, what is inside it and what it is inside of; a longer word is another path."""
    assert touches(path, ["a.b"]) is touched


def test_has_errors() -> None:
    """Warnings and notes stop nothing."""
    assert has_errors([SPARE, FULL])
    assert not has_errors([SPARE])


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("0.33.0", "0.33.0"),
        ("1.30", '"1.30"'),
        ("true", '"true"'),
        ("", '""'),
        ("a\nerror[fake] x", '"a\\nerror[fake] x"'),
        ("\x1b[31mred", '"\\u001b[31mred"'),
        ("\x7f\x9b31m\u202e", r'"\x7f\x9b31m\u202e"'),
        ("2026-13-45", "2026-13-45"),
        ("[" * 3000, "[" * 400 + " ..."),
        ({"b": 1, "a": [True, None]}, '{"a": [true, null], "b": 1}'),
        (dt.date(2026, 11, 29), '"2026-11-29"'),
        ("größe", "größe"),
    ],
)
def test_values_are_shown_as_yaml_needs_them(value: object, shown: str) -> None:
    """Text that reads like something else keeps its quotes; nothing in a value can pass for a line of ours."""
    text = to_text([Problem(rule="r", path="p", why="w", remedy="r", value=value)])
    assert text.splitlines()[0] == f"error[r] p = {shown}"


def test_no_part_of_a_message_reaches_a_terminal_as_a_command() -> None:
    """A key or a name of the user's may be in any part of a message."""
    text = to_text([Problem(rule="r", path="a\x9bb", why="no \u202e\nerror[fake]", remedy="r\x7f", where="w\x1b")])
    assert text.splitlines() == [
        r"error[r] a\x9bb",
        r"  why:     no \u202e\nerror[fake]",
        r"  remedy:  r\x7f",
        r"  where:   w\x1b",
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("hf_AbCdEfGhIjKlMnOpQrStUvWx", "hf_[hidden]"),
        ("https://robot:s3cret@m.example.com", "https://[hidden]@m.example.com"),
        ({"token": ["ghp_0123456789abcdefABCDEF"]}, {"token": ["ghp_[hidden]"]}),
        ("-----BEGIN PRIVATE KEY-----\nabc", "-----BEGIN[hidden]"),
        ("ya29.a0AfH6SMBxxxxxxxxxxxxxxxx", "ya29.[hidden]"),
        ("hf_token", "hf_token"),
        ("docker.io/vllm/vllm-openai:v0.33.0", "docker.io/vllm/vllm-openai:v0.33.0"),
    ],
)
def test_credentials_are_hidden(value: object, shown: object) -> None:
    """What looks like a credential never reaches a message, a log or JSON."""
    problem = Problem(rule="r", path="p", why=f"found {value}", remedy="r", value=value)
    assert problem.value == shown
    assert str(shown) in problem.why


def test_json() -> None:
    """The record is plain JSON with the keys in declaration order, whatever the value is."""
    record = Problem(rule="r", path="p", why="w", remedy="r", value=dt.date(2026, 11, 29)).to_json()
    assert list(record) == ["rule", "path", "why", "remedy", "value", "allowed", "where", "source", "severity"]
    assert json.loads(json.dumps(record))["value"] == "2026-11-29"


def test_problems_are_read_back_out_of_a_text() -> None:
    """An engine repeats what a program said; what it puts around it is no part of it."""
    told = [
        Problem(rule="a-b", path="x.y[0]", why="w = v", remedy="r", value=16, allowed="32", where="f", source="s"),
        Problem(rule="c", path="p", why="w", remedy="r", value="1.30", severity="warning"),
        Problem(rule="d", path="p", why="w", remedy="r", value="text of it", severity="note"),
    ]
    assert problems_in(f"3 problems in this stack:\n{to_text(told)}\nupdate failed") == told
    assert problems_in("error: update failed") == []
