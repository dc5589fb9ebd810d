"""Public failures, and the stage at which this kit stops each of them: ``make failures`` prints the table.

A table is a file of this folder. Every stage is really run, see ``stages``.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.failures.public.stages import RUN, STAGES

__all__ = ["TABLES", "Row", "caught", "main", "rows", "stage_of"]

_FILES = sorted(Path(__file__).parent.glob("*.yaml"))
_READ: dict[str, dict[str, Any]] = {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in _FILES}
TABLES: dict[str, str] = {name: data["title"] for name, data in _READ.items()}
"""Name -> what the table is about."""
_TITLES = {
    "always": "impossible by construction",
    "code": "impossible by construction",
    "rule": "check",
    "engine": "check, engines' flags",
    "schema": "check, schemas",
    "kind": "check, schemas",
    "server": "API server",
    "verdict": "vendor's program",
    "stand_in": "a stand-in for it",
    "passes": "right, and let through",
}

_STOP_NOTHING = ("stand_in", "verify")


@dataclass(frozen=True)
class Row:
    """One failure of a table, with what stops it by stage."""

    table: str
    number: int
    says: str
    source: str
    stages: Mapping[str, Any]


@cache
def rows(table: str) -> list[Row]:
    """Return the failures of one table."""
    return [
        Row(table, each["id"], each["says"], each["source"], {s: each[s] for s in STAGES if s in each})
        for each in _READ[table]["failures"]
    ]


def caught(row: Row) -> dict[str, list[str]]:
    """Return stage by stage what went past it; a stage with nothing in its list caught the failure."""
    return {stage: list(RUN[stage](what)) for stage, what in row.stages.items()}


def stage_of(row: Row, results: Mapping[str, list[str]]) -> str:
    """Return the first stage that stops the failure; verify is only a promise about a running cluster."""
    stopped = [stage for stage in STAGES if stage in results and stage not in _STOP_NOTHING and not results[stage]]
    if stopped:
        return _TITLES.get(stopped[0], stopped[0])
    return "verify only" if set(row.stages) == {"verify"} else "UNCAUGHT"


def _line(row: Row, results: Mapping[str, list[str]]) -> str:
    also = [_TITLES.get(stage, stage) for stage in STAGES if stage in results]
    first = stage_of(row, results)
    more = ", ".join(dict.fromkeys(stage for stage in also if stage != first))
    return f"{row.number:>3}  {first:<26} {row.says}{f' [also {more}]' if more and first != 'verify only' else ''}"


def main() -> int:
    """Print a line for each failure; 1 when one goes past every stage."""
    uncaught = 0
    for table, title in TABLES.items():
        sys.stdout.write(f"{title}\n")
        results = [(row, caught(row)) for row in rows(table)]
        stages = Counter(stage_of(row, found) for row, found in results)
        missed = [row for row, found in results if stage_of(row, found) == "UNCAUGHT" or any(found.values())]
        for row, found in results:
            sys.stdout.write(f"{_line(row, found)}\n")
            sys.stdout.write("".join(f"     went past {stage}: {what}\n" for stage in found for what in found[stage]))
        sys.stdout.write(
            f"{len(results)} failures, {len(missed)} uncaught; {stages['warned']} of which plan only warns, "
            f"{stages['verify only']} that only a running cluster shows\n\n"
        )
        uncaught += len(missed)
    return int(bool(uncaught))


if __name__ == "__main__":
    sys.exit(main())
