"""Counts in messages read as English."""

from __future__ import annotations

import pytest

from stacks.wording import some


@pytest.mark.parametrize(
    ("count", "noun", "said"),
    [
        (0, "address", "0 addresses"),
        (1, "address", "1 address"),
        (1, "replica", "1 replica"),
        (2, "replica", "2 replicas"),
        (8, "GPU", "8 GPUs"),
    ],
)
def test_a_count_with_its_noun(count: int, noun: str, said: str) -> None:
    """One thing is named in the singular, none and several in the plural."""
    assert some(count, noun) == said
