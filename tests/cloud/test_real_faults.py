"""Faults on the real engine: what a user reads, what is left, and that the next ``up`` goes on from there.

Networks need no cluster, so none is started.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from beamline.sandbox import project, pulumi_runs
from beamline.sandbox.cloud.faults import FAULTS
from beamline.sandbox.cloud.inventory import PROJECT_FILE
from beamline.sandbox.cloud.ledger import Ledger
from beamline.sandbox.home import Home, Record, home_of
from stacks.cloud import SANDBOX_PROJECT

from .samples import ADDRESS, NETWORK, NETWORK_ID, SUBNETWORK

pytestmark = pytest.mark.sandbox

STACK = "faults"
PROGRAM = Path(__file__).with_name("network_program")


@pytest.fixture
def home(tools: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("BEAMLINE_HOME", str(tmp_path / "beamline"))
    home = home_of(STACK)
    home.create()
    Record(STACK, time_scale=1000, kubernetes={"endpoint": "", "ca_file": "", "kubeconfig": ""}).save(home)
    stack_file = tmp_path / f"Pulumi.{STACK}.yaml"
    stack_file.write_text(f"config: {{gcp:project: {SANDBOX_PROJECT}, gcp:region: us-central1}}\n")
    project.prepare(home, STACK, stack_file, PROGRAM, dict.fromkeys(project.TOOLS, tools("pulumi")), charts_port=1)
    pulumi_runs.ask(home, "stack", "select", STACK, "--create")
    return home


def apply(home: Home, *arguments: str) -> str:
    """Run ``pulumi up``; return what it said went wrong, empty when nothing did."""
    run = pulumi_runs.run(home, "apply", "up", "--yes", "--skip-preview", "--stack", STACK, *arguments)
    assert bool(run.errors) is bool(run.code)
    return "\n".join(error.message for error in run.errors)


def test_faults_end_in_what_google_says_and_the_next_up_goes_on(home: Home) -> None:
    """A network whose making nobody heard of, a quota that is too small, a service that is away, a late failure."""
    cloud = home.ledger.parent
    faults: list[dict[str, Any]] = [
        {"fault": "connection_lost", "type": "Network", "operation": "create", "times": 1},
        {"fault": "late_failure", "type": "Subnetwork", "times": 1},
        {"fault": "unavailable", "type": "Address", "times": 9},
    ]
    (cloud / FAULTS).write_text(yaml.safe_dump({"operations": faults}))
    (cloud / PROJECT_FILE).write_text(yaml.safe_dump({"quotas": [{"metric": "STATIC_ADDRESSES", "limit": 0}]}))

    said = apply(home)
    assert "http2: client connection lost" in said
    assert "Quota 'STATIC_ADDRESSES' exceeded. Limit: 0.0 in region us-central1." in said
    assert f"The resource '{NETWORK_ID}' already exists, alreadyExists" in apply(home)

    (cloud / PROJECT_FILE).unlink()
    pulumi_runs.ask(home, "config", "set", "existing", NETWORK_ID, "--stack", STACK)
    assert 'Subnetwork beam-nodes was created in the error state "ERROR"' in apply(home)
    assert apply(home) == ""
    assert apply(home, "--expect-no-changes") == ""
    assert [record.type for record in Ledger(home.ledger).everything()] == [NETWORK, ADDRESS, SUBNETWORK]

    run = pulumi_runs.run(home, "destroy", "destroy", "--yes", "--skip-preview", "--stack", STACK)
    assert run.errors == []
    assert Ledger(home.ledger).everything() == []
