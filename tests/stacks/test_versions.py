"""Versions are compared by their numbers."""

from __future__ import annotations

import pytest

from stacks.versions import minor, numbers, older


@pytest.mark.parametrize(
    ("version", "than", "is_older"),
    [
        ("0.9.0", "0.33.0", True),
        ("0.33.0", "0.33.0", False),
        ("0.33", "0.33.0", False),
        ("0.33.0", "0.33", False),
        ("0.32", "0.33.0", True),
        ("1.34.0-gke.999", "1.34.0-gke.1626000", True),
        ("1.35.0-gke.1", "1.34.0-gke.1626000", False),
        ("1.9.0-gke.1", "1.10.0-gke.1", True),
    ],
)
def test_older(version: str, than: str, is_older: bool) -> None:
    """By number, never as text; a number that is not written counts as 0."""
    assert older(version, than) is is_older


def test_parts() -> None:
    """All numbers in order; major and minor."""
    assert numbers("1.35.8-gke.1036000") == (1, 35, 8, 1036000)
    assert minor("1.35.8-gke.1036000") == "1.35"
