"""Reads presets: one YAML file each, composed by ``extends``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stacks.merging import Origins, merge
from stacks.problems import Problem, ProblemsFound
from stacks.typing_problems import nearest
from stacks.yaml_files import read_yaml

__all__ = ["PRESETS_DIR", "compose", "preset_names"]

PRESETS_DIR = Path(__file__).parent / "presets"


def preset_names(root: Path = PRESETS_DIR) -> list[str]:
    """Names of all presets, sorted."""
    return sorted(path.stem for path in root.glob("*.yaml"))


def _unknown(name: str, key: str, where: str, root: Path) -> Problem:
    names = preset_names(root)
    guess = nearest(name, names)
    return Problem(
        rule="unknown-preset",
        path=key,
        value=name,
        why=f"there is no preset {name!r}" + (f"; did you mean {guess!r}?" if guess else ""),
        allowed=", ".join(names),
        remedy=f"write {guess!r}" if guess else "choose an existing preset, or add one under stacks/presets",
        where=where,
        source="stacks/presets",
    )


def compose(
    name: str, *, key: str, where: str, root: Path = PRESETS_DIR, chain: tuple[str, ...] = ()
) -> tuple[dict[str, Any], Origins]:
    """Return the preset's data with everything it extends, and who set what.

    ``key`` and ``where`` say who asked for it, for the message when it does not exist. Raises ``ProblemsFound``.
    """
    if name not in preset_names(root):
        raise ProblemsFound([_unknown(name, key, where, root)])
    file = f"stacks/presets/{name}.yaml"
    if name in chain:
        loop = " -> ".join((*chain, name))
        raise ProblemsFound(
            [
                Problem(
                    rule="extends-loop",
                    path="extends",
                    value=name,
                    why=f"{loop} has no end",
                    remedy="break it",
                    where=file,
                )
            ]
        )
    data = read_yaml(root / f"{name}.yaml")
    parent = data.pop("extends", None)
    origins: Origins = {}
    base: dict[str, Any] = {}
    if parent is not None:
        base, origins = compose(str(parent), key="extends", where=file, root=root, chain=(*chain, name))
    return merge(base, data, origins, file), origins
