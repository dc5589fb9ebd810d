"""Kubernetes quantities as integers: cores in millicores, everything else in its own unit (bytes, GPUs)."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

__all__ = ["amount", "shown"]

_FORM = re.compile(r"^([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$")
_FACTORS: dict[str | None, Decimal] = {
    None: Decimal(1),
    "m": Decimal("0.001"),
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate("kMGTP", start=1)},
    **{f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTP", start=1)},
}


def amount(name: str, quantity: Any) -> int:
    """Return ``quantity`` of the resource ``name``, rounded up; raises ValueError when it is not a quantity."""
    form = _FORM.match(str(quantity))
    if form is None:
        raise ValueError(f"{quantity!r} is not a Kubernetes quantity")
    value = Decimal(form[1]) * _FACTORS[form[2]] * (1000 if name == "cpu" else 1)
    return int(value.to_integral_value(rounding="ROUND_CEILING"))


def shown(name: str, value: int) -> str:
    """Write an amount for people: ``1500m``, ``40 GiB``, ``8``."""
    if name == "cpu":
        return f"{value}m"
    return f"{value / 2**30:.1f} GiB" if name in ("memory", "ephemeral-storage") else str(value)
