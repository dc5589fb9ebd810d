"""The simulated controllers over a world in memory, a real ledger, and an API server that is a dictionary."""

from __future__ import annotations

from pathlib import Path

import pytest

from beamline.sandbox.cloud.ledger import Ledger, Record
from beamline.sandbox.operators.controller import Controller
from beamline.sandbox.operators.load_balancers import CloudView
from beamline.sandbox.operators.world import World

from .cluster import PROJECT, Cluster


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """A project with a network, its proxy-only subnet and a cluster."""
    ledger = Ledger(tmp_path / "ledger.db")
    network = f"projects/{PROJECT}/global/networks/beam"
    region = f"projects/{PROJECT}/regions/us-central1"
    proxies = {"network": network, "purpose": "REGIONAL_MANAGED_PROXY", "role": "ACTIVE"}
    rows = (
        ("gcp:compute/network:Network", network, "global", {}),
        ("gcp:compute/subnetwork:Subnetwork", f"{region}/subnetworks/proxies", "us-central1", proxies),
        (
            "gcp:container/cluster:Cluster",
            f"projects/{PROJECT}/locations/us-central1/clusters/beam",
            "us-central1",
            {"network": network},
        ),
    )
    for kind, resource_id, location, inputs in rows:
        ledger.add(Record(kind, resource_id, PROJECT, location, resource_id.rpartition("/")[2], inputs, {}))
    return ledger


@pytest.fixture
def cluster(ledger: Ledger) -> Cluster:
    world, cluster = World(), Cluster()
    cluster.controller = Controller(
        world=world, cloud=CloudView(ledger), api=cluster, time_scale=1.0, clock=lambda: cluster.now_s
    )
    return cluster
