"""Conditions as Kubernetes controllers write them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Condition", "changed", "written"]

Status = dict[str, Any]


@dataclass(frozen=True)
class Condition:
    """One statement about an object."""

    type: str
    status: bool | None
    """None: unknown."""
    reason: str
    message: str = ""


def written(
    conditions: Sequence[Condition], before: Sequence[Mapping[str, Any]], generation: int, now: str
) -> list[Status]:
    """Return conditions for a status; one whose status is as before keeps the time of its last change."""
    previous = {entry["type"]: entry for entry in before}
    out: list[Status] = []
    for condition in conditions:
        text = "Unknown" if condition.status is None else str(condition.status)
        old = previous.get(condition.type, {})
        out.append(
            {
                "type": condition.type,
                "status": text,
                "reason": condition.reason,
                "message": condition.message,
                "observedGeneration": generation,
                "lastTransitionTime": old["lastTransitionTime"] if old.get("status") == text else now,
            }
        )
    return out


def changed(wanted: object, present: object) -> bool:
    """Tell whether a status says something new; the times in it do not count."""
    if isinstance(wanted, Mapping):
        if not isinstance(present, Mapping):
            return True
        return any(
            changed(value, present.get(key))
            for key, value in wanted.items()
            if key not in ("lastTransitionTime", "lastUpdateTime")
        )
    if isinstance(wanted, list):
        if not isinstance(present, list) or len(wanted) != len(present):
            return True
        return any(changed(a, b) for a, b in zip(wanted, present, strict=True))
    return wanted != present
