"""Names of a composition find their rows; what the catalog does not have is said with what it has."""

from __future__ import annotations

from typing import Any

import pytest

from stacks import Problem
from stacks.catalog_files import load_catalog
from stacks.merging import merge
from stacks.preset_files import compose
from stacks.row_lookup import Rows, look_up
from stacks.spec import Preset


def _looked_up(over: dict[str, Any]) -> tuple[Rows | None, list[Problem]]:
    data = merge(compose("g4-llmd", key="preset", where="")[0], over, {}, "")
    problems: list[Problem] = []
    return look_up(Preset.model_validate(data), load_catalog(), problems), problems


def test_rows_of_a_preset() -> None:
    """All six rows, and the drafter only with speculation."""
    rows, problems = _looked_up({})
    assert problems == []
    assert rows is not None
    assert (rows.hardware.machine_type, rows.system.machine_type) == ("g4-standard-384", "n4-standard-8")
    assert (rows.model.name, rows.checkpoint.precision, rows.drafter) == ("beam", "fp8", None)
    assert (rows.engine.version, rows.release.version) == ("0.33.0", "0.9.0")
    weights = {"kind": "bucket", "bucket": "acme-weights", "prefix": "beam/dflash2"}
    rows, problems = _looked_up({"serving": {"speculation": {"drafter": "dflash2", "tokens": 7, "weights": weights}}})
    assert problems == []
    assert rows is not None
    assert rows.drafter is not None
    assert rows.drafter.methods["vllm"] == "dflash"


UNKNOWN: list[tuple[dict[str, Any], str, str]] = [
    (
        {"accelerator_pools": {"main": {"machine_type": "g4-standard-385"}}},
        "accelerator_pools.main.machine_type",
        "g4-standard-384",
    ),
    ({"system_pool": {"machine_type": "n4-standard-80"}}, "system_pool.machine_type", "n4-standard-8"),
    ({"model": {"name": "baem"}}, "model.name", "beam"),
    ({"model": {"checkpoint": "nvfp"}}, "model.checkpoint", "nvfp4"),
    ({"serving": {"router": {"release": "0.9.1"}}}, "serving.router.release", "0.9.0"),
    ({"serving": {"engine": {"version": "0.33.1"}}}, "serving.engine.version", "0.33.0"),
]


@pytest.mark.parametrize(("over", "path", "guess"), UNKNOWN)
def test_unknown_names(over: dict[str, Any], path: str, guess: str) -> None:
    """One problem at the name, with the nearest row and all others."""
    rows, problems = _looked_up(over)
    assert rows is None
    assert [(p.rule, p.path, p.remedy) for p in problems] == [("unknown-row", path, f"write {guess!r}")]
    assert guess in problems[0].allowed


def test_all_unknown_names_at_once() -> None:
    """Four wrong names are four problems."""
    over = {
        "accelerator_pools": {"main": {"machine_type": "x"}},
        "system_pool": {"machine_type": "x"},
        "model": {"checkpoint": "x"},
        "serving": {"engine": {"version": "0.1.0"}},
    }
    assert sorted(p.rule for p in _looked_up(over)[1]) == ["engine-too-old", *["unknown-row"] * 3]
