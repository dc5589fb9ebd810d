"""What each rung changes: ``python -m tests.ladder.golden`` writes it anew, and a reviewer reads the difference.

A file holds what ``beamline plan --diff LOWER UPPER`` writes: what the rung means, what follows from it, and every
object, flag and variable that comes, goes or changes.
"""

from __future__ import annotations

from pathlib import Path

from tests.cli.command import run
from tests.ladder.rungs import PAIRS

__all__ = ["FOLDER", "golden_file", "regenerate", "told"]

FOLDER = Path(__file__).with_name("golden")


def golden_file(lower: str, upper: str) -> Path:
    """Where the comparison of two neighbours is kept."""
    return FOLDER / f"{lower}--{upper}.txt"


def told(lower: str, upper: str) -> str:
    """Return what the command line says of two neighbours; they can be compared, or the ladder is broken."""
    ran = run("plan", "--diff", lower, upper)
    if ran.code or ran.stderr:
        raise ValueError(f"{lower} and {upper} cannot be compared:\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def regenerate() -> None:
    """Write every golden file anew, and remove those of pairs that are no more."""
    FOLDER.mkdir(exist_ok=True)
    for stale in set(FOLDER.iterdir()) - {golden_file(*pair) for pair in PAIRS}:
        stale.unlink()
    for pair in PAIRS:
        golden_file(*pair).write_text(told(*pair), encoding="utf-8")


if __name__ == "__main__":
    regenerate()
