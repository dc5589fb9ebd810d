"""A Pulumi program on the real engine: metal nodes, a network of another program's, and pods that claim interfaces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from beamline.sandbox import control_plane, standstill
from beamline.sandbox.cloud.faults import FAULTS
from beamline.sandbox.cloud.ledger import Ledger
from beamline.sandbox.cloud.operations import Operations
from beamline.sandbox.cloud.simulation import Cluster, Simulation
from beamline.sandbox.components import TOOLS
from beamline.sandbox.home import DEFAULT_TIME_SCALE, Home, Record, home_of
from beamline.sandbox.lifecycle import down, up
from stacks.cloud import SANDBOX_PROJECT
from stacks.problems import ProblemsFound

from .samples import NETWORK, SUBNETWORK

pytestmark = pytest.mark.sandbox

PROGRAM = Path(__file__).with_name("program")
SHARED = f"projects/{SANDBOX_PROJECT}/global/networks/shared"
NOWHERE = Cluster("", Path(), Path())
OTHERS: dict[str, dict[str, Any]] = {
    NETWORK: {"name": "shared", "autoCreateSubnetworks": False},
    SUBNETWORK: {
        "name": "shared-nodes",
        "region": "us-central1",
        "network": SHARED,
        "ipCidrRange": "10.0.0.0/22",
        "secondaryIpRanges": [{"rangeName": "pods", "ipCidrRange": "10.4.0.0/18"}],
    },
}
"""What another program has made in the project."""


@pytest.fixture(scope="module")
def home(tools: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A sandbox whose project has a network already, and whose hardware has one interface that does not come up."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BEAMLINE_HOME", str(tmp_path_factory.mktemp("beamline")))
        home = home_of("metal")
        home.create()
        try:
            record = Record(name=home.name, time_scale=DEFAULT_TIME_SCALE)
            control_plane.ensure_running(home, record, {name: tools(name) for name in TOOLS})
            cloud = Operations(Simulation(Ledger(home.ledger), home.ledger.parent, 1e9, NOWHERE))
            for kind, inputs in OTHERS.items():
                cloud.create(kind, inputs)
            (home.ledger.parent / FAULTS).write_text("nodes: [{pool: metal, place: 3, rdma_devices: 7}]")
            yield home
        finally:
            down(home.name, force=True)


@pytest.fixture
def stack_file(tmp_path: Path) -> Path:
    file = tmp_path / "Pulumi.metal.yaml"
    file.write_text(f"config: {{gcp:project: {SANDBOX_PROJECT}}}\n")
    return file


def test_a_stack_with_one_interface_too_few_fails_with_the_schedulers_words(
    home: Home, stack_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standstill, "_LEAST_PATIENCE_S", 6.0)
    monkeypatch.setattr(standstill, "_LONGEST_QUIET_S", 0)
    with pytest.raises(ProblemsFound) as raised:
        up(home.name, stack_file, PROGRAM)
    assert "1 cannot allocate all claims" in str(raised.value)


def test_and_is_applied_once_all_interfaces_are_there(home: Home, stack_file: Path) -> None:
    (home.ledger.parent / FAULTS).unlink()
    result = up(home.name, stack_file, PROGRAM)
    assert result.outputs == {"network": SHARED, "version": "1.35.8-gke.1036000"}
    again = up(home.name, stack_file, PROGRAM)
    assert again.verified_unchanged
