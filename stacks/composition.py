"""A preset with the user's overrides: typed, with its catalog rows, and with a record of who set what.

An override that is wrong is set aside and the preset's own value stands in for it while the rest is checked, so that
five mistakes give five problems in one run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from stacks.catalog_files import Catalog
from stacks.merging import Origins, merge, origin_of, without
from stacks.preset_files import not_removed
from stacks.problems import Problem, touches
from stacks.row_lookup import Rows, look_up
from stacks.spec import Preset
from stacks.typing_problems import Path, dotted, located_problems, unknown_key

__all__ = ["PRESETS_OWN", "Composition", "allowed_overrides", "check_alone", "lay_over", "placed"]

PRESETS_OWN = {
    "description": "what a preset says about itself; a stack file has comments",
    "evidence": "what is known about a preset; a stack that could add to it would vouch for itself",
    "extends": "how presets are built; a stack file chooses one by its preset key",
}
_OVERRIDABLE = sorted(set(Preset.model_fields) - set(PRESETS_OWN))
_NEEDS_CONTEXT = ("missing-key", "wrong-kind")
"""Findings about overrides that the preset below them may resolve."""


@dataclass(frozen=True)
class Composition:
    """A preset that is complete and whose rows exist.

    ``overrides`` are those that went in, ``set_aside`` lists the paths of those left out.
    """

    overrides: Mapping[str, Any]
    preset: Preset
    rows: Rows
    origins: Origins
    set_aside: frozenset[str]


def allowed_overrides(overrides: Mapping[str, Any], where: str, problems: list[Problem]) -> dict[str, Any]:
    """Return the overrides less what only a preset may say; each of those is a problem."""
    problems += [
        Problem(
            rule="not-overridable",
            path=key,
            value=overrides[key],
            why=f"this is {why}",
            allowed=", ".join(_OVERRIDABLE),
            remedy="remove it, or write a preset of your own under stacks/presets that extends this one",
            where=where,
            source="stacks/composition.py",
        )
        for key, why in PRESETS_OWN.items()
        if key in overrides
    ]
    return {key: value for key, value in overrides.items() if key not in PRESETS_OWN}


def check_alone(overrides: Mapping[str, Any], where: str) -> list[Problem]:
    """What is wrong with overrides whatever the preset: used when the preset cannot be read."""
    try:
        Preset.model_validate(overrides)
    except ValidationError as error:
        found = located_problems(error, model=Preset, data=overrides, where=where)
        return [_for_overrides(path, problem) for path, problem in found if problem.rule not in _NEEDS_CONTEXT]
    return []


def _for_overrides(path: Path, problem: Problem) -> Problem:
    """Offer instead of an unknown section only those that a stack file may override."""
    if problem.rule != "unknown-key" or len(path) != 1:
        return problem
    return replace(problem, **unknown_key(str(path[0]), _OVERRIDABLE, problem.value))


def lay_over(
    base: Mapping[str, Any],
    origins: Origins,
    overrides: Mapping[str, Any],
    *,
    catalog: Catalog,
    where: str,
    problems: list[Problem],
) -> Composition | None:
    """Return the composition, wrong overrides set aside; None when the preset itself is wrong.

    ``base`` and ``origins`` are the preset's (``preset_files.compose``), ``where`` is the stack file.
    """
    problems += not_removed(base, overrides, where)
    set_aside: set[str] = set()
    while True:
        tried = dict(origins)
        data = merge(base, overrides, tried, where)
        preset, rows, found = _tried(data, catalog)
        new = [(path, problem) for path, problem in found if not touches(problem.path, set_aside)]
        for path, problem in new:
            origin = origin_of(path, tried)
            said = _for_overrides(path, problem) if origin == where else problem
            problems.append(replace(said, where=problem.where or origin))
        if preset and rows:
            return Composition(overrides, preset, rows, tried, frozenset(set_aside))
        cleaned = overrides
        for path, problem in found:
            aside = _to_set_aside(path, problem)
            cleaned = without(cleaned, aside)
            set_aside |= {problem.path, dotted(aside)}
        if cleaned == overrides:
            return None
        overrides = cleaned


def _to_set_aside(path: Path, problem: Problem) -> Path:
    """The section, where its kind is wrong or it lacks a key: what else it says fits no other kind."""
    return path[:-1] if problem.rule in _NEEDS_CONTEXT or path[-1] == "kind" else path


def _tried(data: Mapping[str, Any], catalog: Catalog) -> tuple[Preset | None, Rows | None, list[tuple[Path, Problem]]]:
    try:
        preset = Preset.model_validate(data)
    except ValidationError as error:
        return None, None, located_problems(error, model=Preset, data=data, where="")
    problems: list[Problem] = []
    rows = look_up(preset, catalog, problems)
    return preset, rows, [(tuple(p.path.split(".")), p) for p in problems]


def placed(problem: Problem, origins: Origins, stack_file: str) -> Problem:
    """Say in which file a check's finding is to be corrected.

    That is the stack file for its own settings and for everything its overrides touch, and where a value is missing
    that an override made necessary; otherwise the preset that set the path.
    """
    path = tuple(problem.path.split("."))
    by_user = path[0] not in Preset.model_fields or any(
        file == stack_file and (at[: len(path)] == path or path not in origins) for at, file in origins.items()
    )
    return replace(problem, where=problem.where or (stack_file if by_user else origin_of(path, origins)))
