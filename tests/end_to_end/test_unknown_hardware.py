"""Hardware nobody has described: data only, and a stack on it is planned, checked and applied.

The engine and the API server are real. Google Cloud is SIMULATED, and told of the machine type by a file of the
sandbox's own.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from beamline.sandbox.cloud.machines import MACHINES
from beamline.sandbox.home import CHECKOUT, home_of
from tests.checkout import beamline, copy_of_checkout

A5 = CHECKOUT / "tests" / "cloud" / "unknown_hardware"
pytestmark = pytest.mark.sandbox

FORK = ("fork", "g4-llmd", "a5", "--hardware", "a5-future-8g")


def _python(folder: Path) -> dict[str, str]:
    """Every program file of the kit, by its contents."""
    files = (path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _json(done: subprocess.CompletedProcess[str], code: int = 0) -> Any:
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_it_is_forked_filled_in_planned_checked_and_applied_from_data_only(tmp_path: Path, sandboxes: Path) -> None:
    """What lacks is told column by column; then every level of checks sees the pool, and its nodes run all pods."""
    assert sandboxes.exists()
    copy = copy_of_checkout(tmp_path)
    program = _python(copy)
    row = copy / "stacks/catalog/hardware/a5-future-8g.yaml"
    waiting = _json(beamline(copy, *FORK, "--json"), 1)
    told = {problem["rule"] for problem in _json(beamline(copy, "plan", "a5", "--json"), 1)["problems"]}
    assert told == {problem["rule"] for problem in waiting["problems"]} == {"hardware-column-missing"}

    shutil.copy(A5 / row.name, row)
    made = _json(beamline(copy, *FORK, "--json"))
    assert made["written"] == ["stacks/presets/a5.yaml", "stacks/Pulumi.a5.yaml"]
    assert {change["path"] for change in made["changes"]} >= {"accelerator_pools.main.provisioning"}
    (checked,) = _json(beamline(copy, "check", "a5", "--json"))["stacks"]
    assert {problem["severity"] for problem in checked["problems"]} == {"note"}

    simulated = home_of("a5").folder / "cloud" / MACHINES
    simulated.parent.mkdir(parents=True)
    shutil.copy(A5 / MACHINES, simulated)
    up = _json(beamline(copy, "sandbox", "up", "a5", "--json"))
    assert (set(up["changes"]), up["warnings"]) == ({"create"}, [])
    get = ("sandbox", "shell", "a5", "--", "kubectl", "get", "nodes", "--output", "json")
    nodes = _json(beamline(copy, *get))["items"]
    machines = [node["metadata"]["labels"]["node.kubernetes.io/instance-type"] for node in nodes]
    assert machines.count("a5-future-8g") == 1
    (status,) = _json(beamline(copy, "sandbox", "status", "a5", "--json"))["sandboxes"]
    assert status["problems"] == []
    assert [len(set(status[part].split("/"))) for part in ("nodes_ready", "pods_ready")] == [1, 1]
    assert _json(beamline(copy, "sandbox", "down", "a5", "--json"))["proven_empty"]
    assert _python(copy) == program
