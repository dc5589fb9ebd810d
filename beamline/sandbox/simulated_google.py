"""The SIMULATED Google API of one sandbox; of a project with nothing in it while the sandbox is not there."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from beamline.sandbox.cloud.ledger import Ledger
from beamline.sandbox.cloud.simulation import Cluster, Simulation
from beamline.sandbox.google_api import serving
from beamline.sandbox.home import home_of

__all__ = ["simulated_google", "simulated_project"]

_NO_CLUSTER = Cluster("", Path(), Path())
"""Reading needs no API server."""


def simulated_project(folder: Path) -> Simulation:
    """Return the simulated project that a folder ``cloud`` holds, for reading."""
    return Simulation(ledger=Ledger(folder / "ledger.db"), folder=folder, time_scale=1.0, cluster=_NO_CLUSTER)


@contextmanager
def simulated_google(name: str, *, assumed: Mapping[str, str]) -> Iterator[str]:
    """Serve the API for a sandbox, and give its address; ``assumed`` says what assumed reservations hold."""
    home = home_of(name)
    if home.ledger.exists():
        with serving(simulated_project(home.ledger.parent), assumed=assumed) as endpoint:
            yield endpoint
        return
    with (
        tempfile.TemporaryDirectory(prefix="beamline-") as folder,
        serving(simulated_project(Path(folder)), assumed=assumed) as endpoint,
    ):
        yield endpoint
