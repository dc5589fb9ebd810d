"""Reads presets: one YAML file each, composed by ``extends``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stacks.merging import REMOVABLE, Origins, merge, removable
from stacks.problems import Problem, ProblemsFound
from stacks.typing_problems import nearest
from stacks.yaml_files import read_yaml

__all__ = ["PRESETS_DIR", "compose", "not_removed", "preset_names", "preset_of"]

PRESETS_DIR = Path(__file__).parent / "presets"


def preset_names(root: Path = PRESETS_DIR) -> list[str]:
    """Names of all presets, sorted."""
    return sorted(path.stem for path in root.glob("*.yaml"))


def _file(name: str) -> str:
    """Write a preset's file as messages and origins do."""
    return f"stacks/presets/{name}.yaml"


def preset_of(file: str) -> str:
    """Return the name of the preset that an origin stands for."""
    return Path(file).stem


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


def _not_a_name(parent: object, where: str) -> Problem:
    return Problem(
        rule="wrong-value",
        path="extends",
        value=parent,
        why="extends takes the name of one preset",
        allowed="the name of a preset",
        remedy="write one name, or leave the key out of a preset that stands alone",
        where=where,
        source="stacks/schemas/preset.schema.json",
    )


def _loop(chain: tuple[str, ...], where: str) -> Problem:
    return Problem(
        rule="extends-loop",
        path="extends",
        value=chain[-1],
        why=f"{' -> '.join(chain)} has no end",
        allowed="a preset that does not extend this one",
        remedy="break the loop",
        where=where,
        source="stacks/presets",
    )


def not_removed(base: Mapping[str, Any], over: Mapping[str, Any], where: str) -> list[Problem]:
    """One problem for each pool that is removed and was never there: the one that was meant would stay."""
    known = [name for name, there in removable(base).items() if there]
    return [
        Problem(
            rule="removes-nothing",
            path=f"{REMOVABLE}.{name}",
            why="null removes a pool of the preset below, and that has none of this name",
            allowed=", ".join(known) or "no pool",
            remedy="correct the name, or leave the line out",
            where=where,
            source="stacks/merging.py",
        )
        for name, there in removable(over).items()
        if not there and name not in known
    ]


def compose(
    name: str, *, key: str, where: str, root: Path = PRESETS_DIR, chain: tuple[str, ...] = ()
) -> tuple[dict[str, Any], Origins]:
    """Return the preset's data with everything it extends, and who set what.

    ``key`` and ``where`` say who asked for it, for the message when it does not exist. Raises ``ProblemsFound``.
    """
    if name not in preset_names(root):
        raise ProblemsFound([_unknown(name, key, where, root)])
    if name in chain:
        raise ProblemsFound([_loop((*chain, name), where)])
    file = _file(name)
    data = read_yaml(root / f"{name}.yaml", where=file)
    base: dict[str, Any] = {}
    origins: Origins = {}
    if "extends" in data:
        parent = data.pop("extends")
        if not isinstance(parent, str):
            raise ProblemsFound([_not_a_name(parent, file)])
        base, origins = compose(parent, key="extends", where=file, root=root, chain=(*chain, name))
    if problems := not_removed(base, data, file):
        raise ProblemsFound(problems)
    merged = merge(base, data, origins, file)
    return merged, origins | {(): file}
