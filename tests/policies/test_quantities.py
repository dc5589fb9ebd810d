"""Quantities mean what Kubernetes says they mean."""

from __future__ import annotations

import pytest

from policies.quantities import amount, shown


@pytest.mark.parametrize(
    ("name", "quantity", "value"),
    [
        ("cpu", "4", 4000),
        ("cpu", 4, 4000),
        ("cpu", "1500m", 1500),
        ("cpu", "0.0001", 1),
        ("cpu", "250000u", 250),
        ("memory", "1Ki", 1024),
        ("memory", "1.5Gi", 3 * 2**29),
        ("memory", "1G", 10**9),
        ("memory", "1e9", 10**9),
        ("memory", "1E", 10**18),
        ("memory", "1.", 1),
        ("nvidia.com/gpu", "8", 8),
        ("memory", "20GB", None),
        ("memory", "20 Gi", None),
        ("memory", "-1", None),
        ("memory", "", None),
        ("cpu", "four", None),
        ("cpu", "1e999", None),
    ],
)
def test_amount(name: str, quantity: object, value: int | None) -> None:
    assert amount(name, quantity) == value


def test_shown() -> None:
    assert [shown("cpu", 1500), shown("memory", 3 * 2**29), shown("nvidia.com/gpu", 8)] == ["1500m", "1.5 GiB", "8"]
