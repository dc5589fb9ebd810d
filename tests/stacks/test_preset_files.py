"""Presets: composed the same each time, each with the evidence its features need."""

from __future__ import annotations

from pathlib import Path

import pytest

from stacks import ProblemsFound
from stacks.preset_files import PRESETS_DIR, compose, preset_names, preset_of

BASE = "a: {b: 1, c: 1}\nd: {kind: x, e: 1}\n"


def _folder(folder: Path, **presets: str) -> Path:
    for name, text in presets.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


def test_three_generations(tmp_path: Path) -> None:
    """Each generation is laid over the one it extends; every path knows its file; the youngest speaks for the rest."""
    root = _folder(
        tmp_path,
        base=BASE,
        parent="extends: base\na: {c: 2}\nd: {kind: y}\n",
        child="extends: parent\na: {b: 3}\n",
    )
    data, origins = compose("child", key="preset", where="here", root=root)
    assert data == {"a": {"b": 3, "c": 2}, "d": {"kind": "y"}}
    assert origins == {
        (): "stacks/presets/child.yaml",
        ("a",): "stacks/presets/base.yaml",
        ("a", "b"): "stacks/presets/child.yaml",
        ("a", "c"): "stacks/presets/parent.yaml",
        ("d",): "stacks/presets/parent.yaml",
        ("d", "kind"): "stacks/presets/parent.yaml",
    }


def test_the_order_of_keys_does_not_matter(tmp_path: Path) -> None:
    """The same preset written in another order is the same preset."""
    root = _folder(tmp_path, base=BASE, one="extends: base\na: {c: 2, b: 3}\n", two="a: {b: 3, c: 2}\nextends: base\n")
    one, two = (compose(name, key="preset", where="", root=root)[0] for name in ("one", "two"))
    assert one == two


def test_a_missing_preset_names_who_asked(tmp_path: Path) -> None:
    """A stack file that asks and a preset that extends are both pointed at."""
    root = _folder(tmp_path, child="extends: parnt\n", parent="a: 1\n")
    for name, path, where in (("chld", "preset", "here"), ("child", "extends", "stacks/presets/child.yaml")):
        with pytest.raises(ProblemsFound) as found:
            compose(name, key="preset", where="here", root=root)
        (problem,) = found.value.problems
        assert (problem.rule, problem.path, problem.where) == ("unknown-preset", path, where)
        assert "did you mean" in problem.why


def test_names() -> None:
    """Every file is a preset; an origin leads back to its name."""
    assert preset_names() == sorted(path.stem for path in PRESETS_DIR.iterdir())
    assert preset_of("stacks/presets/g4-llmd.yaml") == "g4-llmd"
