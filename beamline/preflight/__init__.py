"""What only the live project knows, asked before anything is created: read-only, all at once, each with a deadline.

A check asks (Google's client library, a registry, a program on this machine) and judges; the judgement is a function of
the answer alone. What could not be asked is never counted as fine.
"""

from __future__ import annotations

from beamline.preflight.checks import CHECKS, CLOUD_CHECKS
from beamline.preflight.findings import Check, Finding, Standing
from beamline.preflight.google import Google, from_credentials
from beamline.preflight.run import Report, run_checks
from beamline.preflight.target import Target
from beamline.preflight.world import World

__all__ = [
    "CHECKS",
    "CLOUD_CHECKS",
    "Check",
    "Finding",
    "Google",
    "Report",
    "Standing",
    "Target",
    "World",
    "from_credentials",
    "run_checks",
]
