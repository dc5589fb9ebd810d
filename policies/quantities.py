"""Kubernetes quantities as integers: cores in millicores, everything else in its own unit (bytes, GPUs)."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal
from typing import Any

__all__ = ["amount", "shown"]

_FORM = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(?:(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)|[eE]([+-]?\d{1,2}))?")
_FACTORS: dict[str, Decimal] = {
    **{suffix: Decimal(1000) ** -power for power, suffix in enumerate("mun", start=1)},
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", start=1)},
}


def amount(name: str, quantity: Any) -> int | None:
    """Return ``quantity`` of the resource ``name``, rounded up; None when it is not a quantity."""
    form = _FORM.fullmatch(str(quantity))
    if form is None:
        return None
    number, suffix, exponent = form.groups()
    factor = _FACTORS[suffix] if suffix else Decimal(10) ** int(exponent or 0)
    value = Decimal(number) * factor * (1000 if name == "cpu" else 1)
    return int(value.to_integral_value(rounding=ROUND_CEILING))


def shown(name: str, value: int) -> str:
    """Write an amount for people: ``1500m``, ``40.0 GiB``, ``8``."""
    if name == "cpu":
        return f"{value}m"
    return f"{value / 2**30:.1f} GiB" if name in ("memory", "ephemeral-storage") else str(value)
