"""Whatever is written into a catalog row, the answer is a stack that works or problems that help."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from stacks import Problem, ProblemsFound, StackSpec
from stacks.catalog_files import CATALOG_DIR, ROW_KINDS, Catalog, _read_row, load_catalog
from stacks.yaml_files import read_yaml
from tests.fuzz.edits import ANYTHING
from tests.fuzz.judging import complaints, refused_objects
from tests.fuzz.keys import Path as Keys
from tests.fuzz.keys import paths
from tests.fuzz.sound import COMPOSED, settings_for
from tests.fuzz.stack_files import answer_to
from tests.fuzz.tally import Tally, inputs
from tests.fuzz.writing import written

FILES = [path for folder in ROW_KINDS for path in sorted((CATALOG_DIR / folder).glob("*.yaml"))]
ROWS = {path: read_yaml(path) for path in FILES}
PLACES = sorted((path, place) for path, row in ROWS.items() for place in paths(row))


def _wrong(old: Any) -> st.SearchStrategy[Any]:
    """Figures somebody may write for ``old``, most of them of its type."""
    match old:
        case bool():
            alike = st.booleans()
        case int():
            alike = st.sampled_from([0, 1, -1, old - 1, old // 2, old * 2, old * 10, old * 1000, 2**62])
        case float():
            alike = st.sampled_from([0.001, old / 1000, old / 2, old * 2, old * 1000, 1e-320, 1e300, -old])
        case str():
            alike = st.sampled_from([old, f"{old}x", old.upper(), old.replace("-", "_"), "1.2.3", "x", " ", "a/b:c"])
        case _:
            alike = ANYTHING
    return alike | alike | ANYTHING


def _value(path: Path, place: Keys) -> Any:
    value = ROWS[path]
    for part in place:
        value = value[part]
    return value


def _damaged(path: Path, place: Keys, value: Any) -> Any:
    row = copy.deepcopy(ROWS[path])
    section = row
    for part in place[:-1]:
        section = section[part]
    section[place[-1]] = value
    return row


def _with_row(folder: str, old: str, row: Any) -> Catalog:
    catalog = load_catalog()
    return dataclasses.replace(catalog, **{folder: {**getattr(catalog, folder), old: row}})


@pytest.fixture
def stack_file(tmp_path: Path) -> Path:
    """Return where a stack file is written."""
    return tmp_path / "Pulumi.g4.yaml"


def test_a_damaged_row(stack_file: Path, tmp_path: Path, tally: Tally) -> None:
    """Catalog rows with a wrong figure: a problem in the row's file, or a plan whose objects every schema takes."""

    @inputs(0.075)
    @given(where=st.sampled_from(PLACES), data=st.data(), preset=st.sampled_from(sorted(COMPOSED)))
    def fuzz(where: tuple[Path, Keys], data: st.DataObject, preset: str) -> None:
        path, place = where
        value = data.draw(_wrong(_value(path, place)))
        file = tmp_path / path.name
        file.write_text(written(_damaged(path, place, value)), encoding="utf-8")
        note(f"{path.name}: {'.'.join(place)} = {value!r}, preset {preset}")
        problems: list[Problem] = []
        folder = path.parent.name
        row = _read_row(file, ROW_KINDS[folder][0], f"stacks/catalog/{folder}/{path.name}", problems)
        assert complaints(problems) == []
        if row is None:
            assert problems
            tally.count(ProblemsFound(problems))
            return
        stack_file.write_text(
            written({"config": {**settings_for(COMPOSED[preset]), "beamline:preset": preset}}), encoding="utf-8"
        )
        with mock.patch("stacks.resolve.load_catalog", return_value=_with_row(folder, path.stem, row)):
            answer = answer_to(stack_file)
            tally.count(answer)
            assert complaints(answer.problems) == []
            assert not isinstance(answer, StackSpec) or refused_objects(answer) == []

    fuzz()
    assert 0.1 < tally.share_planned < 0.9
