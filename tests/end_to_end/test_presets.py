"""Every other preset goes up and comes down; real engine, real API server, SIMULATED cloud and nodes."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from beamline import sandbox

pytestmark = pytest.mark.sandbox

CASES = [
    pytest.param("small-l4", []),
    pytest.param("g4-llmd-nvfp4", ["precision:nvfp4"]),
    pytest.param("g4-llmd-multi", []),
    pytest.param("g4-dynamo", []),
]


@pytest.mark.parametrize(("preset", "accepted"), CASES)
def test_the_preset_is_applied_and_leaves_nothing(
    preset: str, accepted: list[str], sandboxes: Path, tmp_path: Path
) -> None:
    assert sandboxes.exists()
    file = tmp_path / "Pulumi.preset.yaml"
    config = {
        "beamline:preset": preset,
        "beamline:project": "your-project-id",
        "beamline:region": "us-central1",
        "beamline:zone": "us-central1-b",
        "beamline:accept_unverified": accepted,
    }
    file.write_text(yaml.safe_dump({"config": config}))
    result = sandbox.up("preset", file)
    assert set(result.changes) == {"create"}
    assert result.warnings == []
    status = sandbox.status("preset")
    for part in (status.nodes, status.pods):
        ready, wanted = part.split("/")
        assert ready == wanted
        assert int(wanted) >= 2
    assert status.problems == []
    assert sandbox.down("preset").proven_empty
