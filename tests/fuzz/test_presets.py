"""Whatever somebody writes into a preset of their own, the answer is a stack that works or problems that help."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from stacks import ProblemsFound
from stacks.settings import STACKS_DIR
from stacks.yaml_files import read_yaml
from tests.fuzz.edits import ANYTHING, edited
from tests.fuzz.judging import is_sound
from tests.fuzz.sound import COMPOSED, settings_for
from tests.fuzz.stack_files import answer_to
from tests.fuzz.tally import Tally, inputs
from tests.fuzz.writing import FILE_TRAPS, written

Files = tuple[Path, Path]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Return a copy of what a stack is made of, and where a stack file for it is written."""
    root = tmp_path_factory.mktemp("stacks")
    for part in ("catalog", "presets"):
        shutil.copytree(STACKS_DIR / part, root / part)
    return root, root / "Pulumi.g4.yaml"


@st.composite
def _presets(draw: st.DrawFn) -> dict[str, Any]:
    """Return a preset that is laid over a shipped one, or is a copy of it, with edits."""
    name = draw(st.sampled_from(sorted(COMPOSED)))
    full = copy.deepcopy(COMPOSED[name])
    start = {"extends": name} if draw(st.booleans()) else copy.deepcopy(full)
    preset = edited(draw, start, full)
    match draw(st.integers(0, 15)):
        case 3:
            preset["extends"] = draw(st.sampled_from(["fuzz", "nobody", "G4-llmd", ""]) | ANYTHING)
        case 5:
            preset["evidence"] = draw(ANYTHING)
        case 7:
            line = {"status": draw(st.sampled_from(["measured", "known"])), "source": "x", "as_of": draw(ANYTHING)}
            preset["evidence"] = {draw(st.sampled_from(["engine:vllm", "engine", "precision:fp8"])): line}
    return preset


def _base_of(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What a preset is laid over: nothing when it stands alone, None when it cannot be told."""
    if "extends" not in data:
        return {}
    parent = data["extends"]
    return COMPOSED.get(parent) if isinstance(parent, str) else None


def _judged(files: Files, text: str, tally: Tally) -> None:
    root, stack_file = files
    preset_file = root / "presets" / "fuzz.yaml"
    note(text)
    preset_file.write_text(text, encoding="utf-8", newline="")
    try:
        data = read_yaml(preset_file)
    except ProblemsFound:
        data = {}
    base = _base_of(data)
    config = {**settings_for(base, data), "beamline:preset": "fuzz"}
    stack_file.write_text(written({"config": config}), encoding="utf-8")
    answer = answer_to(stack_file, root)
    tally.count(answer)
    own = {key: value for key, value in data.items() if key != "extends"}
    is_sound(answer, own if base is not None else {}, base or {})
    assert base is not None or isinstance(answer, ProblemsFound), "it extends nothing that exists"


def test_an_edited_preset(files: Files, tally: Tally) -> None:
    """Presets with edits and mistakes: a good share plans, and what plans is what was asked for."""

    @inputs(0.2)
    @given(preset=_presets())
    def fuzz(preset: dict[str, Any]) -> None:
        _judged(files, written(preset), tally)

    fuzz()
    assert tally.share_planned > 0.2, "too few inputs reach what comes after the types"
    assert tally.share_planned < 0.8, "too few inputs are wrong"


def test_a_damaged_preset(files: Files, tally: Tally) -> None:
    """Presets damaged as a whole: line ends, tabs, a second copy, an end that is missing."""

    @inputs(0.05)
    @given(preset=_presets(), trap=st.sampled_from(sorted(FILE_TRAPS)))
    def fuzz(preset: dict[str, Any], trap: str) -> None:
        _judged(files, FILE_TRAPS[trap](written(preset)), tally)

    fuzz()
