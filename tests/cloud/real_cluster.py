"""A sandbox's real control plane with simulated kubelets and controllers, and the simulated cloud over it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from beamline.sandbox import control_plane
from beamline.sandbox.cloud.ledger import Ledger
from beamline.sandbox.cloud.simulation import Cluster, Simulation
from beamline.sandbox.components import TOOLS
from beamline.sandbox.home import Home, Record

TIME_SCALE = 6000.0


@contextmanager
def real_simulation(folder: Path, tools: Callable[[str], Path]) -> Iterator[Simulation]:
    home = Home("test", folder)
    home.create()
    record = Record(name="test", time_scale=TIME_SCALE)
    try:
        record = control_plane.ensure_running(home, record, {name: tools(name) for name in TOOLS})
        endpoint = record.kubernetes["endpoint"]
        yield Simulation(
            ledger=Ledger(home.ledger),
            folder=home.ledger.parent,
            time_scale=TIME_SCALE,
            cluster=Cluster(endpoint, home.ca_file, home.kubeconfig),
            region="us-central1",
            zone="us-central1-b",
        )
    finally:
        control_plane.stop_all(home)


def until(condition: Callable[[], bool], limit_s: float = 60) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)
