"""Names with a meaning of their own: placeholders of the shipped files, and the simulated project."""

from __future__ import annotations

__all__ = [
    "PLACEHOLDER_BUCKET",
    "PLACEHOLDER_PROJECT",
    "PLACEHOLDER_RESERVATION",
    "PLACEHOLDER_SETTINGS",
    "PLACEHOLDER_SUB_BLOCK",
    "SANDBOX_PROJECT",
    "placeholder_reservation",
]

PLACEHOLDER_PROJECT = "your-project-id"
"""What the shipped stack files say: planned with a note, replaced by the sandbox, refused against Google."""

SANDBOX_PROJECT = "beamline-sandbox-simulated-google"
"""The simulated project. Google's ids have at most 30 characters, so this one can never name a real project."""

PLACEHOLDER_BUCKET = "your-weights-bucket"
"""What the shipped presets say for Beam's weights; treated like the placeholder project."""

PLACEHOLDER_RESERVATION = "your-reservation"
"""What the shipped stack files say for the name of a reservation; treated like the placeholder project."""

PLACEHOLDER_SUB_BLOCK = (
    f"projects/{PLACEHOLDER_PROJECT}/reservations/{PLACEHOLDER_RESERVATION}"
    "/reservationBlocks/your-block/reservationSubBlocks/your-sub-block"
)
"""The placeholder in full: one sub-block, as machines with NVLink between nodes need it."""

PLACEHOLDER_SETTINGS = {"project": PLACEHOLDER_PROJECT, "region": "us-central1", "zone": "us-central1-b"}
"""What a preset is planned with and a new stack file starts with; the shipped stack files say the same."""


def placeholder_reservation(scope: str) -> str:
    """Return the placeholder for machines whose reservation is named down to ``scope``: reservation or sub_block."""
    return PLACEHOLDER_SUB_BLOCK if scope == "sub_block" else PLACEHOLDER_SUB_BLOCK.partition("/reservationBlocks")[0]
