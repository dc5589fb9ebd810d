"""A SIMULATED Google API: what ``beamline preflight`` reads, answered from the simulated project of a sandbox.

Each API is under the name of its host, ``http://127.0.0.1:PORT/compute.googleapis.com/...``; what is not read by a
preflight is not there. It answers from the project's inventory and ledger, as the simulated provider does, so that what
one refuses the other refuses, too. Container registries and the model hub have stand-ins beside it.
"""

from __future__ import annotations

from beamline.sandbox.google_api.server import serving

__all__ = ["serving"]
