"""The simulated kubelets' stages are data that kwok takes, with nothing left to fill in."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

import beamline.sandbox
from beamline.sandbox.components import write_configuration
from beamline.sandbox.home import Home, Record, home_of

_STAGES = Path(beamline.sandbox.__file__).parent / "stages"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("BEAMLINE_HOME", str(tmp_path))
    home = home_of("g4")
    home.create()
    return home


def test_the_written_stages_are_scaled(home: Home) -> None:
    write_configuration(home, Record("g4", 60.0))
    text = (home.kubernetes / "kwok.yaml").read_text()
    assert "TIME_SCALE" not in text
    stages = [stage for stage in yaml.safe_load_all(text) if stage]
    assert [stage["metadata"]["name"] for stage in stages] == [
        "node-boot",
        "node-driver",
        "pod-pull",
        "pod-run",
        "pod-ready",
        "pod-complete",
        "pod-terminate",
        "pod-delete",
    ]
    waits = [json.dumps(stage["spec"]["delay"]) for stage in stages if "delay" in stage["spec"]]
    assert all(" / 60" in wait for wait in waits)


def test_every_wait_counts_from_a_time_in_the_object() -> None:
    """A wait that counts from the last change would start again with each change of the object."""
    for path in _STAGES.glob("*.yaml"):
        for stage in filter(None, yaml.safe_load_all(path.read_text())):
            delay = stage["spec"].get("delay")
            if delay is not None:
                assert delay["durationMilliseconds"] == 0
                assert re.search(r"fromdate.*- now", delay["durationFrom"]["jq"]["expression"], re.DOTALL)
