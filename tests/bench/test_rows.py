"""Verdicts: what meets a goal, and what makes the run fail."""

from __future__ import annotations

import pytest

from bench.pairs import Pair, compare
from bench.rows import Goal, Question, Row, any_broken

AT_MOST = Goal(1.5)
AT_LEAST = Goal(4, at_least=True)
AIM = Goal(4, at_least=True, threshold=False)


@pytest.mark.parametrize(
    ("goal", "figure", "verdict"),
    [
        (AT_MOST, 1.4, "met"),
        (AT_MOST, 1.5, "met"),
        (AT_MOST, 1.51, "broken"),
        (AT_LEAST, 4, "met"),
        (AT_LEAST, 3.99, "broken"),
        (AIM, 4, "met"),
        (AIM, 3.99, "aim missed"),
        (Goal(0), 0, "met"),
        (Goal(0), 1, "broken"),
    ],
)
def test_verdict(goal: Goal, figure: float, verdict: str) -> None:
    assert goal.verdict(figure) == verdict


@pytest.mark.parametrize(
    ("goal", "said"), [(AT_MOST, "at most 1.5"), (AT_LEAST, "at least 4"), (AIM, "aim: at least 4")]
)
def test_a_goal_says_whether_it_is_only_an_aim(goal: Goal, said: str) -> None:
    assert str(goal) == said


def row(goal: Goal, first_s: float) -> Row:
    return Row(Question("x", "a", "b", goal, ""), compare([Pair(first_s, 1)]))


def test_one_broken_threshold_among_good_rows_is_enough() -> None:
    assert any_broken([row(AT_MOST, 1), row(AT_MOST, 2)])


def test_a_missed_aim_fails_nothing() -> None:
    assert not any_broken([row(AT_MOST, 1), row(AIM, 2)])


def test_the_median_ratio_is_what_is_judged() -> None:
    pairs = compare([Pair(1, 1), Pair(1.2, 1), Pair(9, 1)])
    assert Row(Question("x", "a", "b", AT_MOST, ""), pairs).verdict == "met"


def test_a_count_is_judged_as_it_is() -> None:
    counted = Question("modules", "a", "", Goal(0), "")
    assert [Row(counted, 0).verdict, Row(counted, 3).verdict] == ["met", "broken"]
