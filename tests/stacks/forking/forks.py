"""Forks as files: a copy of stacks/ to write them into, and the two that are kept whole."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import yaml

from stacks.columns import MISSING
from stacks.forking import Fork, fork
from stacks.settings import STACKS_DIR

__all__ = ["GOLDEN", "KEPT", "copy_of_stacks", "filled", "main", "text_of", "write"]

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


def filled(text: str, like: dict[str, Any]) -> str:
    """Fill a skeleton in, line by line, with the values of a row; what has a default stays."""
    lines, group = [], ""
    for line in text.splitlines():
        opened, wanted = re.fullmatch(r"([a-z_]+):", line), re.match(rf"  ([a-z0-9_]+): {MISSING}", line)
        group = opened[1] if opened else group
        value = yaml.safe_dump([like[group][wanted[1]]], default_flow_style=True, width=1000) if wanted else ""
        lines.append(f"  {wanted[1]}: {value.strip()[1:-1]}" if wanted else line)
    return "\n".join(lines) + "\n"


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
