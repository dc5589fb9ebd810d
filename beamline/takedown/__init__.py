"""A stack that was applied with the user's own Pulumi, taken down for good."""

from __future__ import annotations

from beamline.takedown.takedown import Takedown, take_down, takedown

__all__ = ["Takedown", "take_down", "takedown"]
