"""The replace guard: what Pulumi recorded and what is wanted now, and which of it would be replaced or deleted.

Pure; imports no Pulumi. ``beamline plan --against`` and the Pulumi program itself ask the same functions.
"""

from __future__ import annotations

from guard.comparing import UNKNOWN, PropertyChange
from guard.problems import refusals, unused_names
from guard.state_files import PROVIDER, Deployment, read_state
from guard.table import is_guarded
from guard.verdicts import Recorded, Verdict, Wanted, judge_all

__all__ = [
    "PROVIDER",
    "UNKNOWN",
    "Deployment",
    "PropertyChange",
    "Recorded",
    "Verdict",
    "Wanted",
    "is_guarded",
    "judge_all",
    "read_state",
    "refusals",
    "unused_names",
]
