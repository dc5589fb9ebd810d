"""Every other preset goes up and comes down; real engine, real API server, SIMULATED cloud and nodes.

Two of them with their weights mounted from elsewhere: from the bucket, and from one disk on two nodes; one with Envoy
before llm-d's picker.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from beamline import sandbox
from tests.shipped import accepted as features_to_accept

pytestmark = pytest.mark.sandbox

ENVOY = {"system_pool": {"machine_type": "n4-standard-16"}, "serving": {"router": {"proxy": "envoy"}}}
BUCKET: dict[str, Any] = {"model": {"storage": {"kind": "gcs_fuse"}}}
DISK = {"model": {"storage": {"kind": "hyperdisk_ml", "disk": "beam-weights", "throughput_mib_per_s": 4800}}}
HIGHEST_RUNGS = ("g4-llmd-d1", "g4-llmd-d2", "g4-dynamo-d1", "g4-dynamo-d2")
"""What the others of a ladder build up to: all that routing, tiers, drafter and prefill/decode render at once."""
CASES = [
    pytest.param("small-l4", [], {}),
    pytest.param("g4-llmd-nvfp4", ["precision:nvfp4", "weights:gcs_fuse", "router-proxy:envoy"], BUCKET | ENVOY),
    pytest.param("g4-llmd-multi", ["weights:hyperdisk_ml"], DISK),
    pytest.param("g4-dynamo", [], {}),
    *(pytest.param(rung, features_to_accept(rung), {}) for rung in HIGHEST_RUNGS),
]


@pytest.mark.parametrize(("preset", "accepted", "overrides"), CASES)
def test_the_preset_is_applied_and_leaves_nothing(
    preset: str, accepted: list[str], overrides: dict[str, Any], sandboxes: Path, tmp_path: Path
) -> None:
    assert sandboxes.exists()
    file = tmp_path / "Pulumi.preset.yaml"
    config = {
        "beamline:preset": preset,
        "beamline:project": "your-project-id",
        "beamline:region": "us-central1",
        "beamline:zone": "us-central1-b",
        "beamline:accept_unverified": accepted,
        "beamline:overrides": overrides,
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
