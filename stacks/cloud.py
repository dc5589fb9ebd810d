"""Project ids with a meaning of their own."""

from __future__ import annotations

__all__ = ["PLACEHOLDER_BUCKET", "PLACEHOLDER_PROJECT", "SANDBOX_PROJECT"]

PLACEHOLDER_PROJECT = "your-project-id"
"""What the shipped stack files say: planned with a note, replaced by the sandbox, refused against Google."""

SANDBOX_PROJECT = "beamline-sandbox-simulated-google"
"""The simulated project. Google's ids have at most 30 characters, so this one can never name a real project."""

PLACEHOLDER_BUCKET = "your-weights-bucket"
"""What the shipped presets say for Beam's weights; treated like the placeholder project."""
