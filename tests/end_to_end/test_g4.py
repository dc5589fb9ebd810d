"""The G4 stack as a newcomer meets it: applied, proven unchanged, rendered, broken, destroyed.

The engine and the API server are real. SIMULATED: Google Cloud, kubelets and GKE's controllers.
The tests run in file order in one sandbox.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from beamline import sandbox
from beamline.sandbox.home import CHECKOUT
from stacks.problems import ProblemsFound
from tests.docs.pages import IN_A_SANDBOX, commands, shown_block

pytestmark = pytest.mark.sandbox

BEAMLINE = [sys.executable, "-m", "beamline.cli"]
STACK_FILE = CHECKOUT / "stacks" / "Pulumi.g4.yaml"
HALF_THE_DISKS = {
    "beamline:preset": "g4-llmd-nvfp4",
    "beamline:project": "your-project-id",
    "beamline:region": "us-central1",
    "beamline:zone": "us-central1-b",
    "beamline:accept_unverified": ["precision:nvfp4"],
    "beamline:overrides": {"accelerator_pools": {"main": {"machine_type": "g4-standard-192", "nodes": 2}}},
}
"""The same model on machines with 16 local SSDs in place of 32."""


def _beamline(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*BEAMLINE, *arguments], cwd=CHECKOUT, env=dict(os.environ), capture_output=True, text=True, check=False
    )


def _json(*arguments: str) -> Any:
    done = _beamline(*arguments, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def _checkout_state() -> str:
    return subprocess.run(
        ["git", "status", "--porcelain"], cwd=CHECKOUT, capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture(scope="module")
def applied(sandboxes: Path) -> str:
    """Apply the stack file as shipped, once, and return what was printed."""
    assert sandboxes.exists()
    before = _checkout_state()
    done = _beamline("sandbox", "up", "g4")
    assert done.returncode == 0, done.stdout + done.stderr
    assert _checkout_state() == before, "the run changed the checkout"
    return done.stdout


def _timeless(text: str) -> str:
    """Leave out what differs from run to run: seconds and the simulated address."""
    return re.sub(r" +", " ", re.sub(r"\d+\.\d+\.\d+\.\d+", "ADDRESS", re.sub(r"\b\d+ s\b", "N s", text)))


def test_up_prints_what_the_readme_shows(applied: str) -> None:
    assert _timeless(applied) == _timeless(shown_block("output: make up"))


def test_every_node_and_pod_is_ready(applied: str) -> None:
    assert applied
    (status,) = _json("sandbox", "status", "g4")["sandboxes"]
    assert status["nodes_ready"] == "3/3"
    ready, wanted = status["pods_ready"].split("/")
    assert ready == wanted
    assert int(wanted) >= 3, "an engine, a router and a seeding pod"
    assert status["problems"] == []


@pytest.mark.parametrize("command", [command for command in commands() if command.startswith(IN_A_SANDBOX)])
def test_a_command_of_the_readme_works_as_written(applied: str, command: str) -> None:
    assert applied
    done = subprocess.run(
        shlex.split(command), cwd=CHECKOUT, env=dict(os.environ), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip()


def test_a_second_up_expects_no_changes_and_a_refresh_finds_none(applied: str) -> None:
    assert applied
    again = sandbox.up("g4", STACK_FILE)
    assert again.verified_unchanged
    assert set(again.changes) == {"same"}
    sandbox.refresh("g4")


def test_rendered_files_are_the_same_bytes_twice_and_the_api_server_takes_them(applied: str, tmp_path: Path) -> None:
    assert applied
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        assert _beamline("render", "g4", "--out", str(folder)).returncode == 0
    one, two = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders)
    assert one == two
    assert one
    objects = [str(path) for path in sorted(folders[0].glob("*.yaml"))]
    apply = ["apply", "--dry-run=server", "--server-side", "--force-conflicts"]
    files = [word for path in objects for word in ("-f", path)]
    done = _beamline("sandbox", "shell", "g4", "--", "kubectl", *apply, *files)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("(server dry run)") == len(objects)


def test_another_ssd_count_is_stopped_before_the_pool_is_touched(applied: str, tmp_path: Path) -> None:
    """In ``plan --against`` the exported state, and in ``pulumi`` itself; the nodes are those of before."""
    assert applied
    file, state = tmp_path / "Pulumi.g4.yaml", tmp_path / "state.json"
    file.write_text(yaml.safe_dump({"config": HALF_THE_DISKS}))
    export = ("pulumi", "stack", "export", "--file", str(state))
    assert _beamline("sandbox", "shell", "g4", "--", *export).returncode == 0
    same = _json("plan", "g4", "--against", str(state))["changes"]
    assert ({resource["operation"] for resource in same["resources"]}, same["simulated"]) == ({"same"}, True)

    nodes = _node_uids()
    planned = _beamline("plan", str(file), "--against", str(state))
    with pytest.raises(ProblemsFound) as raised:
        sandbox.up("g4", file)
    for said in (planned.stdout, str(raised.value)):
        assert "error[would-replace] g4-main-pool.nodeConfig.ephemeralStorageLocalSsdConfig" in said
        assert "32 is recorded" in said
        assert "--allow-replace g4-main-pool" in said
    assert planned.returncode == 1
    assert _node_uids() == nodes


def _node_uids() -> set[str]:
    nodes = _beamline("sandbox", "shell", "g4", "--", "kubectl", "get", "nodes", "--output", "json")
    return {node["metadata"]["uid"] for node in json.loads(nodes.stdout)["items"]}


def test_an_unknown_field_of_a_custom_resource_is_refused_in_kubernetes_words(applied: str) -> None:
    assert applied
    with pytest.raises(ProblemsFound) as raised:
        sandbox.up("g4", STACK_FILE, Path(__file__).parent / "programs" / "unknown_field")
    assert ".spec.sise: field not declared in schema" in str(raised.value)


def test_the_kits_own_program_mends_it(applied: str) -> None:
    assert applied
    assert sandbox.up("g4", STACK_FILE).warnings == []


def test_down_destroys_through_the_engine_and_proves_nothing_is_left(applied: str, sandboxes: Path) -> None:
    result = _json("sandbox", "down", "g4")
    created = re.search(r"\((\d+) create\)", applied)
    assert created is not None
    assert result["destroyed"] == int(created[1]) - 1, "all but the stack itself"
    assert result["proven_empty"] is True
    assert list((sandboxes / "sandboxes").glob("[!.]*")) == []
