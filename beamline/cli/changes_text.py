"""How changes of guarded resources read, for people and for programs."""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType

from beamline.cli.against import Compared
from beamline.cli.output import table
from guard import UNKNOWN, Verdict

__all__ = ["changes_json", "changes_table"]


def changes_table(compared: Compared) -> RenderableType:
    """Return a line for each guarded resource."""
    rows = [(verdict.name, verdict.operation, _why(verdict)) for verdict in compared.verdicts]
    return table(["resource", "change", "because"], rows)


def changes_json(compared: Compared) -> dict[str, Any]:
    """Return the same as JSON-ready data; what is unknown until applied reads ``{"$unknown": true}``."""
    return {
        "resources": [
            {
                "urn": verdict.urn,
                "name": verdict.name,
                "operation": verdict.operation,
                "changes": [
                    {"path": c.path, "old": _plain(c.old), "new": _plain(c.new), "effect": c.effect}
                    for c in verdict.changes
                ],
                "cause": verdict.cause,
            }
            for verdict in compared.verdicts
        ],
        "others": {"new": compared.new, "gone": compared.gone},
        "simulated": compared.simulated,
    }


def _why(verdict: Verdict) -> str:
    parts = [f"inside {verdict.cause.rpartition('::')[2]}"] if verdict.cause else []
    parts += [f"{change.path}: {_said(change.old)} -> {_said(change.new)}" for change in verdict.changes]
    return "; ".join(parts)


def _said(value: object) -> str:
    return "nothing" if value is None else str(value)


def _plain(value: object) -> object:
    return {"$unknown": True} if value is UNKNOWN else value
