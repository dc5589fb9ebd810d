"""Any combination plans, or is refused by a problem that names the keys in conflict: all pairs of all axes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest
from allpairspy import AllPairs

from beamline.checks import graph_problems
from beamline.engine import run_program
from stacks import ProblemsFound, StackSpec
from stacks.settings import STACKS_DIR, pulumi_config
from tests.fuzz.judging import changed_silently, complaints
from tests.fuzz.sound import remembered_texts
from tests.matrix.composing import AXES, composed
from tests.matrix.verdicts import answer_to, axis_of, errors_of

ROWS = [dict(zip(AXES, values, strict=True)) for values in AllPairs(list(AXES.values()))]
NAMES = ["+".join(row.values()).replace(" ", "-") for row in ROWS]


@pytest.fixture(autouse=True, scope="module")
def _shipped_presets_are_parsed_once() -> Iterator[None]:
    with remembered_texts():
        yield


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_a_combination_plans_or_says_which_keys_conflict(row: dict[str, str]) -> None:
    """A plan is what was asked for; a refusal names keys of the axes, and another value there ends it."""
    found = answer_to(row)
    assert complaints(found.problems) == []
    if isinstance(found, StackSpec):
        assert changed_silently(composed(row)["beamline:overrides"], found) == []
        return
    errors = errors_of(row)
    assert errors
    for problem in errors:
        axis = axis_of(problem.path)
        assert axis is not None, f"{problem.path} is no key of an axis"
        others = [{**row, axis: value} for value in AXES[axis] if value != row[axis]]
        ended = [other[axis] for other in others if problem.rule not in {p.rule for p in errors_of(other)}]
        assert ended, f"{problem.rule} names {problem.path}, and no other value of {axis} ends it"


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_a_refusal_is_about_what_was_asked_for(row: dict[str, str]) -> None:
    """Where a router stack or an engine is refused the preset's own stands in for it; nothing is said about that."""
    for axis, problem in itertools.product(("router", "engine"), errors_of(row)):
        others = [kind for kind in AXES[axis] if kind != row[axis]]
        about = [kind for kind in others if re.search(rf"\b{re.escape(kind)}\b", problem.why)]
        assert about == [] or axis_of(problem.path) in ("router", "engine"), f"{problem.rule}: {problem.why}"


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_what_plans_passes_check(row: dict[str, str]) -> None:
    """Of what plans, no input of an SDK, no schema and no rule refuses anything."""
    found = answer_to(row)
    if isinstance(found, ProblemsFound):
        return
    accepted = [feature.name for feature in found.features if feature.status == "unverified"]
    config: dict[str, Any] = {**composed(row), "beamline:accept_unverified": accepted}
    graph = run_program(STACKS_DIR.parent, project="beamline", stack="g4", config=pulumi_config(config))
    problems = graph_problems(graph, found.preset.cluster.version)
    assert [p for p in problems if p.severity != "note"] == []


def test_every_pair_of_values_is_in_a_row() -> None:
    """The rows are few and leave no pair of values of two axes out."""
    walked = {frozenset(pair) for row in ROWS for pair in itertools.combinations(row.items(), 2)}
    wanted = {
        frozenset(((one, a), (other, b)))
        for one, other in itertools.combinations(AXES, 2)
        for a, b in itertools.product(AXES[one], AXES[other])
    }
    assert wanted <= walked
    assert len(ROWS) < 2 * max(len(a) * len(b) for a, b in itertools.combinations(AXES.values(), 2))


def test_the_walk_meets_plans_and_refusals() -> None:
    assert {isinstance(answer_to(row), StackSpec) for row in ROWS} == {True, False}
