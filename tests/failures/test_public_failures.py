"""Every public failure is stopped at the stage its row names, and what stops it can fail."""

from __future__ import annotations

from typing import Any

import pytest

from tests.failures.public.invariants import notices
from tests.failures.public.stages import STAGES, stacks
from tests.failures.public.table import TABLES, Row, caught, rows

ROWS = [row for table in TABLES for row in rows(table)]
INVARIANTS = [(row, invariant) for row in ROWS for invariant in row.stages.get("always", [])]


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


def test_the_tables_are_whole() -> None:
    """Every row of what was collected, in its order; these show on a running cluster only."""
    whole = {
        "dynamo": 36,
        "engines": 36,
        "gke": 32,
        "llmd": 40,
        "pulumi": 9,
        "refused": 9,
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
        ("llmd", 13),
        ("llmd", 17),
        ("llmd", 28),
    ]
    assert {stage for row in ROWS for stage in row.stages} <= set(STAGES)
