"""What a stack holds and at best can do, each figure with its unit, the arithmetic behind it, and what that rests on.

Nothing here is derived a second time: the numbers are those of ``stacks.derive`` and of catalog rows, taken apart and
put together so that they can be computed again by hand. What no row knows stays unknown.
"""

from __future__ import annotations

from stacks.sizing.figures import Basis, Figure, Section
from stacks.sizing.session import MEDIAN_SESSION_TOKENS, Session, default_session, stated_session
from stacks.sizing.size import Sizing, size
from stacks.sizing.tiers import Tier
from stacks.sizing.verdicts import Verdict

__all__ = [
    "MEDIAN_SESSION_TOKENS",
    "Basis",
    "Figure",
    "Section",
    "Session",
    "Sizing",
    "Tier",
    "Verdict",
    "default_session",
    "size",
    "stated_session",
]
