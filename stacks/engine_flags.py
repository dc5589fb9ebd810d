"""Reads what engines take (``stacks/catalog/engine_flags``), version by version."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from stacks.catalog_files import CATALOG_DIR
from stacks.rows.engine_flags import EngineFlags

__all__ = ["FOLDER", "engine_flags", "known_versions"]

FOLDER = CATALOG_DIR / "engine_flags"


@cache
def known_versions(kind: str) -> dict[str, Path]:
    """Return version -> file of an engine or of Dynamo, a version that stands for another one under both."""
    files = {path.stem.removeprefix(f"{kind}-"): path for path in sorted(FOLDER.glob(f"{kind}-*.json"))}
    others = {other: path for path in files.values() for other in _read(path).stands_for}
    return {**others, **files}


def engine_flags(kind: str, version: str) -> EngineFlags | None:
    """Return what a version takes; None where nobody has read it off."""
    path = known_versions(kind).get(version)
    return None if path is None else _read(path)


@cache
def _read(path: Path) -> EngineFlags:
    return EngineFlags.model_validate_json(path.read_bytes())
