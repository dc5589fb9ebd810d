"""docs/matrix.md is what the checks say now, and its axes are those of the catalog and of the typed unions."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from stacks.catalog_files import CATALOG_DIR
from stacks.spec import KvCache, Preset, Serving
from tests.matrix.composing import AXES, KEYS
from tests.matrix.page import MATRIX, _table, matrix_page
from tests.matrix.verdicts import FOUNDATION, axis_of, bases, best, errors_of

PLANS = next(verdict.choice for verdict in bases().values() if verdict.plans)
REFUSED = next(verdict.choice for verdict in bases().values() if not verdict.plans)


def test_the_page_is_fresh() -> None:
    assert MATRIX.read_text() == matrix_page(), "run `make golden`"


def test_all_hardware_transports_and_checkpoints_are_on_their_axis() -> None:
    """A new file of the catalog is on the page without a change to any code."""
    assert set(AXES["hardware"]) == {file.stem for file in (CATALOG_DIR / "hardware").glob("*.yaml")}
    assert set(AXES["transport"]) == {"none", *(file.stem for file in (CATALOG_DIR / "transports").glob("*.yaml"))}
    assert {weights.split()[0] for weights in AXES["weights"]} == {
        file.stem for file in (CATALOG_DIR / "models").glob("*.yaml")
    }


@pytest.mark.parametrize(
    ("axis", "model", "field"),
    [
        ("router", Serving, "router"),
        ("engine", Serving, "engine"),
        ("shape", Serving, "shape"),
        ("KV tier", KvCache, "offload"),
        ("monitoring", Preset, "monitoring"),
    ],
)
def test_all_members_of_a_union_are_on_its_axis(axis: str, model: Any, field: str) -> None:
    members = get_args(model.model_fields[field].annotation)
    kinds = [kind for member in members for kind in get_args(member.model_fields["kind"].annotation)]
    assert sorted(AXES[axis]) == sorted(kinds)


def test_the_best_of_choices_plans_or_has_the_fewest_errors() -> None:
    assert best([REFUSED, PLANS]).choice == PLANS
    assert best([REFUSED]).errors == errors_of(REFUSED) != ()
    with pytest.raises(ValueError, match="nothing to judge"):
        best([])


def test_every_foundation_has_a_verdict() -> None:
    product = 1
    for axis in FOUNDATION:
        product *= len(AXES[axis])
    assert len(bases()) == product
    assert {verdict.plans for verdict in bases().values()} == {True, False}


@pytest.mark.parametrize("axis", KEYS)
def test_a_path_is_on_the_axis_of_its_key(axis: str) -> None:
    assert axis_of(KEYS[axis]) == axis
    assert axis_of(f"{KEYS[axis]}.some.key") == axis
    assert axis_of(f"{KEYS[axis]}s") != axis


def test_lines_with_the_same_cells_are_one() -> None:
    rows = {"a": ["plans", "no"], "b": ["no", "no"], "c": ["plans", "no"]}
    assert _table(["x", "y", "z"], rows) == [
        "| x | y | z |",
        "|---|---|---|",
        "| a, c | plans | no |",
        "| b | no | no |",
        "",
    ]
