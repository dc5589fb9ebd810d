"""Statistics of pairs: medians, spread, and the order in which sides run."""

from __future__ import annotations

import pytest

from bench.pairs import Compared, Pair, alternate, compare


def test_the_median_of_ratios_is_judged_not_the_ratio_of_medians() -> None:
    found = compare([Pair(1, 1), Pair(30, 10), Pair(20, 40)])
    assert found == Compared(pairs=3, first_s=20, second_s=10, ratio=1, lowest=0.5, highest=3)


def test_an_even_number_of_pairs_has_its_median_between_two() -> None:
    assert compare([Pair(1, 1), Pair(2, 1)]).ratio == 1.5


def test_a_slow_moment_of_the_machine_does_not_move_the_figure() -> None:
    quiet = [Pair(4, 3)] * 4
    assert compare([*quiet, Pair(12, 9)]).ratio == pytest.approx(4 / 3)
    assert compare([*quiet, Pair(12, 3)]).ratio == pytest.approx(4 / 3)


def test_nothing_measured_is_no_figure() -> None:
    with pytest.raises(ValueError, match="nothing was measured"):
        compare([])


@pytest.mark.parametrize(("warm_up", "before"), [(True, "ab"), (False, "")])
def test_sides_run_in_turn_and_warming_up_is_not_counted(warm_up: bool, before: str) -> None:
    ran: list[str] = []

    def side(name: str) -> float:
        ran.append(name)
        return float(len(ran))

    pairs = alternate(lambda: side("a"), lambda: side("b"), 3, warm_up=warm_up)
    assert "".join(ran) == before + "ababab"
    start = len(before)
    assert pairs == [Pair(start + 2 * i + 1, start + 2 * i + 2) for i in range(3)]
