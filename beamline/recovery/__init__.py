"""What to do after a crash: explains and clears what a killed engine or provider left in a stack.

Pulumi keeps no more than the name of what it was creating when it was killed, warns about it, and creates it again,
which a cloud refuses. So the id of each such resource is worked out from its inputs (``identities.yaml``), entered into
the state, and the engine's own refresh says whether it exists. The sandbox recovers the same way as a user does.
"""

from __future__ import annotations

from beamline.recovery.engine import Engine, own_engine
from beamline.recovery.findings import Finding, named
from beamline.recovery.recover import Case, Outcome, Recovery, look, mend

__all__ = ["Case", "Engine", "Finding", "Outcome", "Recovery", "look", "mend", "named", "own_engine"]
