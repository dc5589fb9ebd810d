"""What Pulumi's file backend holds for a sandbox: the stack's state, and locks that a killed Pulumi left."""

from __future__ import annotations

import json
from typing import Any

from beamline.recovery.locks import read_lock
from beamline.sandbox.home import Home
from stacks.problems import EnvironmentProblem
from stacks.urns import STACK_TYPE

__all__ = ["clear_stale_locks", "exists", "interrupted", "resource_count"]

_ENGINES_PROVIDER = "pulumi:providers:pulumi"
"""It stands in the state of a program that asks the engine for what is recorded, and no operation counts it."""


def exists(home: Home) -> bool:
    """Tell whether the stack was ever made."""
    return any((home.state / ".pulumi" / "stacks").rglob("*.json"))


def resource_count(home: Home) -> int:
    """Return how many resources the engine knows, the stack and the engine's own provider not counted."""
    resources = _latest(home).get("resources") or []
    return sum(1 for resource in resources if resource["type"] not in (STACK_TYPE, _ENGINES_PROVIDER))


def interrupted(home: Home) -> bool:
    """Tell whether an operation was cut off, so that the engine may not know of what it was making."""
    return bool(_latest(home).get("pending_operations"))


def clear_stale_locks(home: Home) -> None:
    """Remove the locks of Pulumi processes that are gone, as ``pulumi cancel`` does.

    Raises EnvironmentProblem when one of them still works on the stack, started from the user's shell.
    """
    for path in (home.state / ".pulumi" / "locks").rglob("*.json"):
        lock = read_lock(path)
        if lock is not None and lock.is_running:
            raise EnvironmentProblem(
                f"a pulumi command (process {lock.pid}) is working on sandbox {home.name}; "
                "wait until it ends, or interrupt it"
            )
        path.unlink(missing_ok=True)


def _latest(home: Home) -> dict[str, Any]:
    for path in (home.state / ".pulumi" / "stacks").rglob("*.json"):
        latest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["checkpoint"].get("latest") or {}
        return latest
    return {}
