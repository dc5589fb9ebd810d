"""The sidecar: what its container says, and that the program starts the way the container starts it."""

from __future__ import annotations

import ast
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from manifests.tier_evictor import Evicted, evictor_container, evictor_program, evictor_volume, evictors
from stacks.memory import ephemeral_floor_bytes
from tests.manifests.cases import resolved, spec_of
from tests.manifests.cluster_objects import flag

from .conftest import CAPACITY
from .disks import Disk

FOLDER = {"name": "KV_TIER_FOLDER", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}
MOUNT = {"name": "kv-tier", "mountPath": "/kv-tier", "subPathExpr": "$(KV_TIER_FOLDER)"}
EVICTED = Evicted("registry/engine:1", MOUNT, [FOLDER], capacity_bytes=CAPACITY, free_floor_bytes=100)
MODULES: dict[str, str] = dict(evictor_program(spec_of("g4-llmd")).body["data"])
ASKED = {"httpGet": {"path": "/healthz", "port": "kv-evictor"}, "timeoutSeconds": 5}


def test_the_container_runs_beside_the_engine_with_its_folder_and_nothing_else_of_it() -> None:
    assert evictor_container(EVICTED) == {
        "name": "kv-evictor",
        "image": "registry/engine:1",
        "restartPolicy": "Always",
        "command": ["python3", "-S", "-m", "kv_evictor"],
        "args": [
            "--root=/kv-tier",
            f"--capacity-bytes={CAPACITY}",
            "--free-floor-bytes=100",
            "--stall-s=120",
            "--address=$(POD_IP)",
            "--port=9402",
        ],
        "workingDir": "/opt/beamline",
        "env": [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}, FOLDER],
        "ports": [{"name": "kv-evictor", "containerPort": 9402, "protocol": "TCP"}],
        "startupProbe": {**ASKED, "periodSeconds": 2, "failureThreshold": 30},
        "livenessProbe": {**ASKED, "periodSeconds": 10, "failureThreshold": 3},
        "resources": {"requests": {"cpu": "100m", "memory": "160Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [
            MOUNT,
            {"name": "kv-evictor", "mountPath": "/opt/beamline/kv_evictor", "readOnly": True},
        ],
    }


def test_it_leaves_the_disk_to_others_where_others_write_to_it() -> None:
    """On ephemeral storage a full disk costs the pod, whoever filled it. On raw block nobody else writes."""
    accepted = ["routing:turn_priority"]
    raw = {"accelerator_pools": {"main": {"local_ssd_mode": "raw_block"}}}
    floors = []
    for spec in (
        resolved("g4-llmd-c2", {}, accepted),
        resolved("g4-llmd-c2", raw, [*accepted, "local-ssd:raw_block"]),
    ):
        (container,) = evictors(spec, spec.roles[0])
        floors.append(flag(container, "free-floor-bytes"))
    assert floors == [str(ephemeral_floor_bytes(32, 375)), "0"]


def test_the_program_is_mounted_by_a_name_that_changes_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    program = evictor_program(spec_of("g4-llmd")).body
    name = program["metadata"]["name"]
    assert program["immutable"]
    assert evictor_volume() == {"name": "kv-evictor", "configMap": {"name": name}}

    monkeypatch.setattr("manifests.tier_evictor._modules", lambda: {**MODULES, "limits.py": ""})
    assert evictor_program(spec_of("g4-llmd")).body["metadata"]["name"] != name


def started_as_in_the_pod(folder: Path, disk: Disk) -> subprocess.Popen[str]:
    """The container's command in a folder that has what the ConfigMap has, with addresses as Kubernetes puts them."""
    package = folder / "opt" / "kv_evictor"
    package.mkdir(parents=True)
    for name, text in MODULES.items():
        (package / name).write_text(text)
    there = Evicted("", {**MOUNT, "mountPath": str(disk.root)}, [], capacity_bytes=CAPACITY, free_floor_bytes=0)
    container: dict[str, Any] = evictor_container(there)
    arguments = [value.replace("$(POD_IP)", "127.0.0.1").replace("=9402", "=0") for value in container["args"]]
    extra = ["--any-folder"] if disk.kind == "folder" else []
    command = [sys.executable, *container["command"][1:], *arguments, *extra]
    return subprocess.Popen(command, cwd=package.parent, stdout=subprocess.PIPE, text=True, env={})


def test_it_starts_from_what_the_config_map_has_and_ends_when_told(tmpfs: Disk, tmp_path: Path) -> None:
    with started_as_in_the_pod(tmp_path, tmpfs) as process:
        assert process.stdout is not None
        line = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        rest = process.stdout.read()

    assert process.returncode == 0
    assert rest == ""
    assert line["event"] == "started"
    assert {name: line[name] for name in ("root", "capacity_bytes", "high_percent", "low_percent")} == {
        "root": str(tmpfs.root),
        "capacity_bytes": CAPACITY,
        "high_percent": 95,
        "low_percent": 85,
    }


@pytest.mark.parametrize("name", sorted(MODULES))
def test_it_needs_python_3_10_and_its_own_modules(name: str) -> None:
    tree = ast.parse(MODULES[name], feature_version=(3, 10))
    imported = {
        alias.name if isinstance(node, ast.Import) else str(node.module)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    own = {f"kv_evictor.{module.removesuffix('.py')}" for module in MODULES}
    assert {module.partition(".")[0] for module in imported - own} <= set(sys.stdlib_module_names)
