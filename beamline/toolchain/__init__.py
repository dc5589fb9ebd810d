"""The third-party programs behind the sandbox: found on the machine, or built from pinned Go modules.

Nothing here is needed to plan, check or render a stack. ``ensure`` is what other rooms call; ``python -m
beamline.toolchain`` is what ``make tools`` runs.
"""

from __future__ import annotations

from beamline.toolchain.catalog import Program, programs
from beamline.toolchain.locate import official_language_host
from beamline.toolchain.machine import Machine
from beamline.toolchain.status import ToolStatus, describe, ensure

__all__ = ["Machine", "Program", "ToolStatus", "describe", "ensure", "official_language_host", "programs"]
