"""Every public failure is stopped at the stage its row names, and what stops it can fail."""

from __future__ import annotations

from typing import Any

import pytest

from tests.failures.public.invariants import notices
from tests.failures.public.stages import STAGES, pickers, stacks
from tests.failures.public.table import TABLES, Row, caught, rows, stage_of

ROWS = [row for table in TABLES for row in rows(table)]
INVARIANTS = [(row, invariant) for row in ROWS for invariant in row.stages.get("always", [])]


SAMPLED, TEXT_OF_A_FILE = {"never", "text_never"}, "data.config~yaml"


def _id(value: Any) -> str | None:
    return f"{value.table}-{value.number}" if isinstance(value, Row) else None


@pytest.mark.parametrize("row", ROWS, ids=_id)
def test_every_stage_of_a_row_stops_it(row: Row) -> None:
    assert row.stages, "a failure that nothing stops"
    assert caught(row) == {stage: [] for stage in row.stages}


@pytest.mark.parametrize(("row", "invariant"), INVARIANTS, ids=_id)
def test_an_invariant_is_broken_by_the_failure(row: Row, invariant: dict[str, Any]) -> None:
    """In stacks that differ in just this, it is found; so it says something about those where it holds."""
    assert notices(invariant, stacks()), row.says


@pytest.mark.parametrize(("row", "invariant"), INVARIANTS, ids=_id)
def test_the_damage_is_the_failure_itself(row: Row, invariant: dict[str, Any]) -> None:
    """What may not be there is written out as a whole, and a file's text is changed in one place: not made of the row's
    own pattern, and not destroyed, which any pattern would notice.
    """
    assert ("sample" in invariant) == bool(SAMPLED & invariant.keys())
    if invariant.get("path") == TEXT_OF_A_FILE:
        assert "broken_by" in invariant, row.says


@pytest.mark.parametrize("row", [row for row in ROWS if {"verdict", "stand_in"} & row.stages.keys()], ids=_id)
def test_every_release_of_a_picker_has_spoken_or_a_stand_in_has(row: Row) -> None:
    """A new release is not taken for one that was asked, and a row says which was only stood in for."""
    assert {*row.stages.get("verdict", []), *row.stages.get("stand_in", [])} == pickers()


@pytest.mark.parametrize(
    ("stages", "first"),
    [
        ({"plan": ["two-pickers-with-memories"]}, "UNCAUGHT"),  # a note
        ({"plan": ["windows-take-the-pool"]}, "UNCAUGHT"),  # a warning
        ({"warned": ["two-pickers-with-memories"]}, "UNCAUGHT"),
        ({"warned": ["windows-take-the-pool"]}, "warned"),
        ({"verdict": ["endpoint picker v0.11.0"]}, "UNCAUGHT"),  # of which another commit judged
        ({"stand_in": ["endpoint picker v0.11.0"]}, "UNCAUGHT"),
        ({"verdict": ["endpoint picker v0.8.0"]}, "UNCAUGHT"),  # for which nothing is rendered
        ({"verdict": ["endpoint picker v0.10.0"], "stand_in": ["endpoint picker v0.11.0"]}, "vendor's program"),
    ],
)
def test_a_stage_counts_for_what_it_is(stages: dict[str, Any], first: str) -> None:
    """What is only noted, warned of or said by a stand-in stops nobody."""
    row = Row("none", 0, "", "", stages)
    assert stage_of(row, caught(row)) == first


def test_the_tables_are_whole() -> None:
    """Every row of what was collected, in its order; these show on a running cluster only."""
    whole = {
        "dynamo": 36,
        "engines": 36,
        "gke": 32,
        "llmd": 40,
        "pulumi": 9,
        "refused": 10,
        "reports": 21,
        "schemas": 18,
    }
    assert {table: [row.number for row in rows(table)] for table in whole} == {
        table: list(range(1, last + 1)) for table, last in whole.items()
    }
    assert [(row.table, row.number) for row in ROWS if set(row.stages) == {"verify"}] == [
        ("dynamo", 6),
        ("dynamo", 25),
        ("gke", 32),
        ("llmd", 5),
        ("llmd", 13),
        ("llmd", 17),
        ("llmd", 28),
    ]
    assert {stage for row in ROWS for stage in row.stages} <= set(STAGES)
