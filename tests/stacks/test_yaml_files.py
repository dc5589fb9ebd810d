"""YAML is read one way, strictly, and a broken file is a problem with its line."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from stacks import ProblemsFound
from stacks.settings import STACKS_DIR
from stacks.yaml_files import read_yaml, shown

UNWIELDY = "its lists or sections are nested too deeply, or hold too many values"
BROKEN = {
    "empty": ("", "the file is empty"),
    "only-comments": ("# to do\n", "the file is empty"),
    "list": ("[1]", "the file must hold key: value lines at its top level"),
    "text": ("hello", "the file must hold key: value lines at its top level"),
    "key-twice": ("a: 1\nb:\n  c: 1\n  c: 2", "this is not valid YAML: line 4, column 3: key 'c' is written twice"),
    "number-key": ("1.30: a", "this is not valid YAML: line 1, column 1: a key must be text; put 1.30 in quotes"),
    "null-key": ("~: a", "this is not valid YAML: line 1, column 1: a key must be text; put ~ in quotes"),
    "section-key": (
        "? [a]\n: b",
        "this is not valid YAML: line 1, column 3: a key must be text; put a list or a section in quotes",
    ),
    "recursion": ("a: &x {b: *x}", "this is not valid YAML: line 1, column 4: found unconstructable recursive node"),
    "depth": ("a: " + "[" * 5000, UNWIELDY),
    "laughs": (
        "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + "\n".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]" for a, b in zip("abcdefghi", "bcdefghij", strict=True)),
        UNWIELDY,
    ),
    "moderate-depth": ("a: " + "[" * 60 + "]" * 60, UNWIELDY),
    "python": (
        "a: !!python/object:os.system x",
        (
            "this is not valid YAML: line 1, column 4: could not determine a constructor for the tag "
            "'tag:yaml.org,2002:python/object:os.system'"
        ),
    ),
    "half-a-character": (
        'a: "\\ud800"',
        "this is not valid YAML: line 1, column 7: found invalid Unicode character escape code",
    ),
    "two-colons": (
        "a: b: c",
        "this is not valid YAML: line 1, column 5: mapping values are not allowed in this context",
    ),
    "two-documents": ("a: 1\n---\nb: 2", "this is not valid YAML: line 2, column 1: but found another document"),
    "nul": (
        "a: \x00",
        (
            'this is not valid YAML: unacceptable character #x0000: control characters are not allowed in "<unicode '
            'string>", position 3'
        ),
    ),
}


def _why(path: Path) -> str:
    with pytest.raises(ProblemsFound) as found:
        read_yaml(path)
    (problem,) = found.value.problems
    assert (problem.rule, problem.path, problem.where) == ("yaml", path.name, str(path))
    return problem.why


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_problems(name: str, tmp_path: Path) -> None:
    """Each kind of broken file gives one problem that says where and why."""
    text, why = BROKEN[name]
    path = tmp_path / "x.yaml"
    path.write_text(text, encoding="utf-8")
    assert _why(path) == why


def test_unreadable_files_are_problems(tmp_path: Path) -> None:
    """Missing, a folder, another encoding: problems, not exceptions of the operating system."""
    (tmp_path / "latin.yaml").write_bytes(b"a: \xff")
    assert _why(tmp_path / "none.yaml") == "the file cannot be read: No such file or directory"
    assert _why(tmp_path) == "the file cannot be read: Is a directory"
    assert _why(tmp_path / "latin.yaml") == "the file is not UTF-8 text: invalid start byte"


def test_merge_keys_are_not_duplicates(tmp_path: Path) -> None:
    """A key may replace one that comes with a merge."""
    path = tmp_path / "x.yaml"
    path.write_text("base: &b {a: 1, c: 3}\nhere: {<<: *b, a: 2}", encoding="utf-8")
    assert read_yaml(path)["here"] == {"a": 2, "c": 3}


def test_days_are_days(tmp_path: Path) -> None:
    """A day is a date, one that no calendar has is text; a byte order mark is ignored."""
    path = tmp_path / "x.yaml"
    path.write_text("\ufeffa: 2026-11-29\nb: 2026-13-45\nc: '2026-11-29'", encoding="utf-8")
    assert read_yaml(path) == {"a": dt.date(2026, 11, 29), "b": "2026-13-45", "c": "2026-11-29"}


def test_paths_are_shown_from_the_checkout() -> None:
    """A message about a shipped file reads the same on every machine."""
    assert shown(STACKS_DIR / "Pulumi.g4.yaml") == "stacks/Pulumi.g4.yaml"
    assert shown(Path("/elsewhere/Pulumi.g4.yaml")) == "/elsewhere/Pulumi.g4.yaml"
