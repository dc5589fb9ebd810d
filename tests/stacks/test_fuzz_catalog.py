"""Whatever is written into a catalog row, the answer is a stack or problems; never anything else."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from stacks import Problem, ProblemsFound, resolve
from stacks.catalog_files import CATALOG_DIR, ROW_KINDS, Catalog, _read_row, load_catalog
from stacks.settings import pulumi_config
from stacks.yaml_files import read_yaml
from tests.stacks.conftest import SOUND
from tests.stacks.test_fuzz import ANYTHING, FUZZ, _paths

FILES = [path for folder in ROW_KINDS for path in sorted((CATALOG_DIR / folder).glob("*.yaml"))]
ROWS = {path: read_yaml(path) for path in FILES}
PLACES = sorted((path, place) for path, row in ROWS.items() for place in _paths(row))
FIGURES = st.one_of(st.sampled_from([0, 1, -1, 2**62, 1e-320, 0.001, 1e300, True, "1.2.3"]), ANYTHING)


def _damaged(path: Path, place: tuple[str, ...], value: Any) -> Any:
    row = copy.deepcopy(ROWS[path])
    section = row
    for part in place[:-1]:
        section = section[part]
    section[place[-1]] = value
    return row


def _with_row(folder: str, old: str, row: Any) -> Catalog:
    catalog = load_catalog()
    return dataclasses.replace(catalog, **{folder: {**getattr(catalog, folder), old: row}})


def _outcome(preset: str) -> Sequence[Problem]:
    try:
        return resolve("g4", pulumi_config(SOUND | {"preset": preset}), where="here", applying=False).problems
    except ProblemsFound as found:
        return found.problems


@settings(FUZZ, max_examples=150)
@given(where=st.sampled_from(PLACES), value=FIGURES, preset=st.sampled_from(["g4-llmd", "small-l4"]))
def test_a_damaged_row_gives_a_stack_or_problems(
    where: tuple[Path, tuple[str, ...]], value: Any, preset: str, tmp_path: Path
) -> None:
    """A wrong figure is a problem in its file; one that passes breaks no derivation and no check."""
    path, place = where
    file = tmp_path / path.name
    file.write_text(yaml.safe_dump(_damaged(path, place, value), allow_unicode=True), encoding="utf-8")
    problems: list[Problem] = []
    folder = path.parent.name
    row = _read_row(file, ROW_KINDS[folder][0], f"stacks/catalog/{folder}/{path.name}", problems)
    assert row is not None or problems
    assert all(p.path and p.why and p.remedy and p.where for p in problems)
    if row is None:
        return
    with mock.patch("stacks.resolve.load_catalog", return_value=_with_row(folder, path.stem, row)):
        assert all(p.path and p.where for p in _outcome(preset))
