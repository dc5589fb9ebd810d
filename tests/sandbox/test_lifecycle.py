"""A stack's life in the sandbox, on the real engine: applied, proven, broken in known ways, killed, taken down.

The stack is the smallest one that can go wrong in these ways; the kit's own stacks are applied by tests/end_to_end.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import yaml

from beamline import sandbox
from beamline.sandbox import lifecycle, standstill
from beamline.sandbox.home import CHECKOUT, Home, Record, home_of
from beamline.sandbox.kubernetes_api import KubernetesApi
from beamline.sandbox.lifecycle import down, refresh, up
from beamline.sandbox.processes import marked
from beamline.sandbox.project import fingerprint
from stacks.problems import EnvironmentProblem, Problem, ProblemsFound

pytestmark = pytest.mark.sandbox

PROGRAM = Path(__file__).with_name("program")
SECRET = "a-very-secret-word"
GOOD = {"gpus": "4", "tolerates": "true", "selector": "vllm"}


def _stack_file(folder: Path, **changes: str) -> Path:
    lines = [f'  tiny:{key}: "{value}"' for key, value in {**GOOD, **changes}.items()]
    file = folder / "Pulumi.tiny.yaml"
    file.write_text("\n".join(["config:", *lines, ""]))
    return file


def _api(home: Home) -> KubernetesApi:
    record = Record.load(home)
    assert record is not None
    return KubernetesApi(home, record)


def _found(raised: pytest.ExceptionInfo[ProblemsFound]) -> list[Problem]:
    return raised.value.problems


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up a hopeless wait after seconds: the patience itself has a test of its own."""
    monkeypatch.setattr(standstill, "_LEAST_PATIENCE_S", 6.0)
    monkeypatch.setattr(standstill, "_LONGEST_QUIET_S", 0)


@pytest.fixture
def applied(home: Home, tmp_path: Path) -> Home:
    """The good stack, applied: the first test that asks makes it, later ones get it as it is or put right."""
    record, file = Record.load(home), _stack_file(tmp_path)
    if record is None or record.applied != _good_fingerprint(home):
        up(home.name, file, PROGRAM)
    return home


@pytest.fixture
def standing(home: Home, tmp_path: Path) -> Home:
    """The sandbox as the test before left it: enough for a test that applies something else."""
    if Record.load(home) is None:
        up(home.name, _stack_file(tmp_path), PROGRAM)
    return home


def _good_fingerprint(home: Home) -> str | None:
    """Return the fingerprint of the good stack if that is what the copied stack file says."""
    copy = yaml.safe_load((home.project / "stacks" / f"Pulumi.{home.name}.yaml").read_text())
    good = copy["config"] == {f"tiny:{key}": value for key, value in GOOD.items()}
    return fingerprint(home, home.name, PROGRAM) if good else None


def test_the_first_apply_makes_everything_and_gives_the_outputs(home: Home, tmp_path: Path) -> None:
    result = up(home.name, _stack_file(tmp_path), PROGRAM)
    assert (result.changes, result.verified_unchanged, result.warnings) == ({"create": 6}, False, [])
    assert result.outputs == {"deployment": "vllm", "password": "[secret]"}
    assert list(result.seconds) == ["tools", "control plane", "apply"]


def test_the_second_apply_proves_that_nothing_changes_and_so_does_a_refresh(applied: Home, tmp_path: Path) -> None:
    result = up(applied.name, _stack_file(tmp_path), PROGRAM)
    assert (result.changes, result.verified_unchanged) == ({"same": 6}, True)
    refresh(applied.name)


def test_nothing_secret_is_in_a_log_or_command_line(applied: Home) -> None:
    secrets = [SECRET, (applied.pulumi / "passphrase").read_text(), applied.admin_token_file.read_text().strip()]
    words = [path.read_text() for path in applied.logs.iterdir()]
    words += [path.read_text() for path in applied.state.rglob("*.json")]
    words += [" ".join(psutil.Process(started.pid).cmdline()) for started in marked(applied.folder)]
    assert [secret for secret in secrets for text in words if secret in text] == []


def test_nothing_of_the_engine_runs_on_between_commands(applied: Home) -> None:
    record = Record.load(applied)
    assert record is not None
    assert {each.pid for each in marked(applied.folder)} == {int(p["pid"]) for p in record.processes.values()}


def test_drift_is_found_by_refresh_and_put_right_by_the_next_apply_which_says_so(applied: Home, tmp_path: Path) -> None:
    api = _api(applied)
    api._session.delete(f"{api._base}/api/v1/namespaces/beam/services/vllm").raise_for_status()
    with pytest.raises(ProblemsFound) as raised:
        refresh(applied.name)
    assert [(problem.rule, problem.path, problem.why) for problem in _found(raised)] == [
        ("unexpected-change", "Service service", "differs from what the engine applied: delete")
    ]
    with pytest.raises(ProblemsFound) as raised:
        up(applied.name, _stack_file(tmp_path), PROGRAM)
    assert [(problem.rule, problem.path, problem.why) for problem in _found(raised)] == [
        ("unexpected-change", "Service service", "was changed by applying the same inputs again: create")
    ]


@pytest.mark.usefixtures("impatient")
def test_nine_gpus_asked_of_a_node_that_has_four(standing: Home, tmp_path: Path) -> None:
    with pytest.raises(ProblemsFound) as raised:
        up(standing.name, _stack_file(tmp_path, gpus="9"), PROGRAM)
    found = {problem.rule: problem for problem in _found(raised)}["pod-unschedulable"]
    assert (found.path, found.source) == ("Deployment beam/vllm", "kube-scheduler")
    assert found.why.startswith("0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")


@pytest.mark.usefixtures("impatient")
def test_a_missing_toleration(standing: Home, tmp_path: Path) -> None:
    with pytest.raises(ProblemsFound, match=r"0/1 nodes are available: 1 node\(s\) had untolerated taint\(s\)"):
        up(standing.name, _stack_file(tmp_path, tolerates="false"), PROGRAM)


def test_a_selector_that_matches_nothing(standing: Home, tmp_path: Path) -> None:
    """The engine waits for Services, but takes one without pods; the sandbox does not."""
    with pytest.raises(ProblemsFound) as raised:
        up(standing.name, _stack_file(tmp_path, selector="vlmm"), PROGRAM)
    assert [(problem.rule, problem.path, problem.value, problem.allowed) for problem in _found(raised)] == [
        ("service-selects-nothing", "Service beam/vllm", "app=vlmm", "app=vllm")
    ]


def test_status_logs_and_shell_show_the_sandbox(applied: Home) -> None:
    found = sandbox.status(applied.name)
    assert (found.state, found.applied, found.nodes, found.pods, found.problems) == ("running", True, "1/1", "1/1", [])
    assert all(process.alive and process.memory_mib for process in found.processes)
    assert any("Node booted (simulated)" in line for line in sandbox.logs(applied.name, "events", lines=1000))
    assert "pulumi-up" in sandbox.log_names(applied.name)
    assert "Updating (test):" in sandbox.logs(applied.name, "pulumi-up", lines=1000)
    with pytest.raises(ProblemsFound, match="allowed: charts, etcd"):
        sandbox.logs(applied.name, "absent")
    shell = sandbox.shell(applied.name, ["kubectl", "get", "nodes", "-o", "name"])
    done = subprocess.run(
        shell.argv, env=shell.environment, cwd=shell.folder, capture_output=True, text=True, check=True
    )
    assert done.stdout == "node/gpu-0\n"


def test_what_the_engine_does_not_know_is_found_after_the_destroy(
    applied: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sandbox stays, to look at; applying again or --force are both possible."""
    monkeypatch.setattr(lifecycle, "_SETTLE_S", 1.0)
    _api(applied).post("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "by-hand"}, "data": {}})
    api = _api(applied)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "by-hand"}, "data": {"a": "b"}}
    query = "fieldManager=somebody&force=true"
    api._session.patch(
        f"{api._base}/api/v1/namespaces/default/configmaps/by-hand?{query}",
        data=json.dumps(body),
        headers={"Content-Type": "application/apply-patch+yaml"},
    ).raise_for_status()
    with pytest.raises(ProblemsFound) as raised:
        down(applied.name)
    assert [(problem.rule, problem.path, problem.value) for problem in _found(raised)] == [
        ("left-behind", "API server: ConfigMap", "default/by-hand")
    ]
    assert applied.folder.exists()
    api._session.delete(f"{api._base}/api/v1/namespaces/default/configmaps/by-hand").raise_for_status()
    assert up(applied.name, _stack_file(tmp_path), PROGRAM).changes == {"create": 6}


def test_down_destroys_proves_and_leaves_nothing(applied: Home) -> None:
    result = down(applied.name)
    assert (result.destroyed, result.proven_empty) == (5, True)
    assert not applied.folder.exists()
    assert marked(applied.folder) == []
    assert down(applied.name).existed is False
    assert sandbox.status(applied.name).state == "absent"


@pytest.fixture
def killed(sandboxes: Path, tmp_path: Path) -> Iterator[Home]:
    """A sandbox whose first apply, and its engine, were killed while the engine waited for a Deployment."""
    assert sandboxes.exists()
    home = home_of("killed")
    file = _stack_file(tmp_path, gpus="9")
    script = (
        "import sys; from pathlib import Path; from beamline.sandbox import up\n"
        f"up('killed', Path({str(file)!r}), Path({str(PROGRAM)!r}), report=lambda p: print(p, flush=True))"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=CHECKOUT) as command:
        assert command.stdout is not None
        for line in command.stdout:
            if "creating Deployment vllm" in line:
                break
        engine = next(p for p in psutil.Process(command.pid).children() if p.name() == "pulumi")
        command.send_signal(signal.SIGKILL)
        engine.send_signal(signal.SIGKILL)
        engine.wait(10)
    return home


def test_a_killed_apply_is_resumed(killed: Home, tmp_path: Path) -> None:
    """The Deployment exists and the engine never heard of it: it is adopted, corrected and owned from then on."""
    result = up(killed.name, _stack_file(tmp_path), PROGRAM)
    assert result.warnings == []
    assert up(killed.name, _stack_file(tmp_path), PROGRAM).verified_unchanged
    assert down(killed.name).proven_empty


def test_a_killed_apply_is_taken_down(killed: Home) -> None:
    record = Record.load(killed)
    assert record is not None
    for process in record.processes.values():  # and now every server, too
        os.kill(int(process["pid"]), signal.SIGKILL)
    assert down(killed.name).proven_empty
    assert not killed.folder.exists()
    assert marked(killed.folder) == []


def test_a_half_made_sandbox_is_taken_down(sandboxes: Path) -> None:
    assert sandboxes.exists()
    home = home_of("half")
    home.create()
    assert sandbox.status("half").state == "half-made"
    with pytest.raises(EnvironmentProblem, match="there is no sandbox half"):
        refresh("half")
    assert down("half").existed
    assert not home.folder.exists()
