"""How much goes, and in which order: arithmetic, without a file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kv_evictor.limits import Limits, Oldest

BYTES = st.integers(0, 1 << 50)


@st.composite
def limits(draw: st.DrawFn) -> Limits:
    high = draw(st.integers(2, 100))
    return Limits(
        capacity_bytes=draw(st.integers(1, 1 << 50)),
        high_percent=high,
        low_percent=draw(st.integers(1, high - 1)),
        free_floor_bytes=draw(BYTES),
    )


@given(limits(), BYTES, BYTES)
def test_what_goes_brings_the_tier_below_low_water_and_the_disk_above_its_floor(
    limits: Limits, used: int, free: int
) -> None:
    excess = limits.excess(used, free)

    assert (excess > 0) == ((used >= limits.high_bytes and used > limits.low_bytes) or free < limits.free_floor_bytes)
    if excess:
        assert limits.excess(used - excess, free + excess) == 0
    assert excess == 0 or used - excess <= limits.low_bytes or free + excess >= limits.free_floor_bytes


@given(limits(), BYTES, BYTES, st.integers(0, 1 << 40))
def test_the_fuller_the_more_goes(limits: Limits, used: int, free: int, more: int) -> None:
    assert limits.excess(used + more, free) >= limits.excess(used, free)
    assert limits.excess(used, max(free - more, 0)) >= limits.excess(used, free)


@given(limits(), BYTES, BYTES)
def test_whatever_is_urgent_has_to_go(limits: Limits, used: int, free: int) -> None:
    assert not limits.urgent(used, free) or limits.excess(used, free) > 0 or used == limits.low_bytes


@given(st.lists(st.tuples(st.integers(0, 50), st.text("ab", max_size=3)), unique=True), st.integers(1, 20))
def test_the_oldest_are_known_in_exact_order_however_many_there_are(files: list[tuple[int, str]], bound: int) -> None:
    oldest = Oldest(bound)
    for used_ns, path in files:
        oldest.offer(used_ns, path)

    kept = oldest.in_order()

    assert [used_ns for used_ns, _ in kept] == sorted(used_ns for used_ns, _ in files)[:bound]
    assert set(kept) <= set(files)
    assert oldest.dropped == (len(files) > bound)


@pytest.mark.parametrize(
    "wrong",
    [
        {"capacity_bytes": 0},
        {"high_percent": 101},
        {"low_percent": 95, "high_percent": 95},
        {"low_percent": 0},
        {"candidates": 0},
        {"deletions_per_s": 0},
    ],
)
def test_bounds_that_mean_nothing_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="wanted"):
        Limits(**{"capacity_bytes": 1, **wrong})
