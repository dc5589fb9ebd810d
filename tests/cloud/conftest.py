"""A simulated cloud in a temporary folder, with an API server that is a dictionary."""

from __future__ import annotations

from pathlib import Path

import pytest

from beamline.sandbox.cloud.ledger import Ledger
from beamline.sandbox.cloud.operations import Operations
from beamline.sandbox.cloud.simulation import Cluster, Simulation

from .fake_api import FakeApi


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture
def simulation(tmp_path: Path, api: FakeApi) -> Simulation:
    folder = tmp_path / "cloud"
    ca_file = tmp_path / "ca.crt"
    ca_file.write_text("certificate")
    return Simulation(
        ledger=Ledger(folder / "ledger.db"),
        folder=folder,
        time_scale=1e9,
        cluster=Cluster("127.0.0.1:6443", ca_file, tmp_path / "kubeconfig.yaml"),
        connect=lambda _path: api,
        region="us-central1",
        zone="us-central1-b",
    )


@pytest.fixture
def cloud(simulation: Simulation) -> Operations:
    return Operations(simulation)
