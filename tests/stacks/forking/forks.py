"""Forks as files: a copy of stacks/ to write them into, and the two that are kept whole."""

from __future__ import annotations

import shutil
from pathlib import Path

from stacks.forking import Fork, fork
from stacks.settings import STACKS_DIR

__all__ = ["GOLDEN", "KEPT", "copy_of_stacks", "main", "text_of", "write"]

GOLDEN = Path(__file__).parent / "golden"
KEPT = {
    "smaller": ("g4-llmd", "g4-standard-192"),
    "metal": ("g4-llmd", "a4x-maxgpu-4g-metal"),
}
"""Name of the fork -> preset and machine type: one changes the weights, the other the shape and the tier."""


def copy_of_stacks(folder: Path) -> Path:
    """Copy what a fork reads: catalog, presets, stack files, schemas, the lock file."""
    root = folder / "stacks"
    shutil.copytree(STACKS_DIR, root, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    return root


def write(made: Fork, root: Path) -> None:
    """Write a fork's files as they are."""
    for path, text in made.files.items():
        (root / path).write_text(text, encoding="utf-8")


def text_of(name: str) -> str:
    """Return all files of one of the forks that are kept."""
    made = fork(KEPT[name][0], name, KEPT[name][1])
    return "".join(f"--- {path}\n{text}" for path, text in made.files.items())


def main() -> None:
    """Write the golden files anew, and no others."""
    for stale in set(GOLDEN.glob("*.txt")) - {GOLDEN / f"{name}.txt" for name in KEPT}:
        stale.unlink()
    for name in KEPT:
        (GOLDEN / f"{name}.txt").write_text(text_of(name), encoding="utf-8")


if __name__ == "__main__":
    main()
