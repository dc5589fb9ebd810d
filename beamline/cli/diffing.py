"""Which two stacks a comparison is about, and their plans under one name.

Names of resources begin with the stack's, so both are planned as the same stack. A preset beside a stack file is
planned with the settings of that file, and any preset with everything accepted that it has no evidence for: a
comparison applies nothing, and shows how each feature is known to work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from beamline.cli.changes import Change
from beamline.cli.planning import Plan, accepting, plan_stack
from beamline.cli.selection import Selection, select
from beamline.comparison import Comparison, compare
from stacks import Problem, ProblemsFound
from stacks.problems import has_errors
from stacks.settings import NAMESPACE

__all__ = ["Side", "compare_sides", "plan_sides"]

_ONE_NAME = "stack"
"""The name both are planned under."""
_BORROWED = ("project", "region", "zone", "reservation", "mirror")
"""Settings of a stack file that a preset beside it is planned with."""


@dataclass(frozen=True)
class Side:
    """One of the two: what was asked for, and its plan or why there is none."""

    asked: str
    plan: Plan | None
    problems: tuple[Problem, ...]

    @property
    def is_sound(self) -> bool:
        """Whether it can be compared."""
        return not has_errors(self.problems)


def plan_sides(old: str, new: str, changes: Sequence[Change] = ()) -> tuple[Side, Side]:
    """Plan both, ``changes`` laid over the new one; never raises for what is wrong with either."""
    selected = [_selected(old, ()), _selected(new, changes)]
    files = [found.config for found in selected if isinstance(found, Selection) and found.file]
    borrowed = files[0] if len(files) == 1 else {}
    before, after = (_planned(asked, found, borrowed) for asked, found in zip((old, new), selected, strict=True))
    return before, after


def compare_sides(old: Side, new: Side) -> Comparison | None:
    """Compare two sides; None where one of them has errors."""
    if not (old.is_sound and new.is_sound and old.plan and new.plan):
        return None
    before, after = old.plan, new.plan
    if before.spec is None or before.graph is None or after.spec is None or after.graph is None:
        return None
    return compare(before.spec, before.graph, after.spec, after.graph)


def _selected(asked: str, changes: Sequence[Change]) -> Selection | ProblemsFound:
    try:
        return select(asked, changes)
    except ProblemsFound as found:
        return found


def _planned(asked: str, selected: Selection | ProblemsFound, borrowed: Mapping[str, Any]) -> Side:
    if isinstance(selected, ProblemsFound):
        return Side(asked, None, tuple(selected.problems))
    if selected.file is None:
        selected = accepting(_with_settings_of(selected, borrowed))
    planned = plan_stack(replace(selected, name=_ONE_NAME))
    return Side(asked, planned, planned.problems)


def _with_settings_of(preset: Selection, borrowed: Mapping[str, Any]) -> Selection:
    """Return a preset with the settings of a stack file.

    A reservation is taken only where the preset's nodes come from one, and not by the names of another stack's pools.
    """
    changed = {f"{NAMESPACE}:{change.path}" for change in preset.changes}
    taken = {
        key: borrowed[key] for setting in _BORROWED if (key := f"{NAMESPACE}:{setting}") in borrowed.keys() - changed
    }
    reservation = f"{NAMESPACE}:reservation"
    if reservation not in preset.config or isinstance(taken.get(reservation), Mapping):
        taken.pop(reservation, None)
    return replace(preset, config={**preset.config, **taken})
