"""Makes a preset of one's own from another: a copy, or the same stack laid out for other hardware.

Pure: it returns the files to write. What it writes is little: a preset that extends the other one and says only what
differs, so that what is improved there arrives here, and evidence stays with the preset that has it.
"""

from __future__ import annotations

from stacks.forking.fork import Change, Fork, fork

__all__ = ["Change", "Fork", "fork"]
