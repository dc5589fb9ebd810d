"""`beamline sandbox`: what the verbs ask of the sandbox, which is stood in for here, and how its answers read."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from beamline import sandbox
from beamline.sandbox import DownResult, ProcessStatus, Progress, Report, Shell, Status, UpResult
from stacks.problems import EnvironmentProblem, Problem, ProblemsFound
from tests.cli.command import run
from tests.cli.golden import MISTAKES
from tests.cli.schemas import DOWN, LOGS, PROBLEMS, SHELL, STATUS, UP

WARNING = Problem("not-ready", "Pod/engine-1", why="it waits", remedy="wait", severity="warning")
APPLIED = UpResult(
    name="g4",
    changes={"create": 40, "same": 1},
    verified_unchanged=False,
    outputs={
        "endpoint": "http://10.0.0.7",
        "kubeconfig": "[secret]",
        "model": "beam",
        "connect": {"curl": "curl x", "port": 80},
        "clients": {"one": {"place": "~/.one", "content": "x"}, "two": {"place": "~/.two", "content": "y"}},
    },
    warnings=[WARNING],
    seconds={"tools": 0.2, "control plane": 8.4, "apply": 61.0},
)
RUNNING = Status(
    name="g4",
    state="degraded",
    folder="/home/sandboxes/g4",
    processes=[
        ProcessStatus("etcd", 17, alive=True, memory_mib=44, log="/x", simulated=False),
        ProcessStatus("kwok", 18, alive=False, memory_mib=None, log="/x", simulated=True),
    ],
    endpoint="127.0.0.1:20001",
    kubeconfig="/home/kubeconfig.yaml",
    time_scale=600.0,
    applied=True,
    resources=41,
    nodes="3/3",
    pods="2/3",
    problems=[WARNING],
)
ABSENT = replace(
    RUNNING,
    name="g5",
    state="absent",
    processes=[],
    endpoint="",
    kubeconfig="",
    applied=False,
    resources=0,
    nodes="",
    pods="",
    problems=[],
)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Stand in for the sandbox; returns what it was asked."""
    calls: list[Any] = []

    def up(name: str, stack_file: Path, *, report: Report) -> UpResult:
        calls.append(("up", name, stack_file.name, yaml.safe_load(stack_file.read_text())["config"]))
        report(Progress("apply", "creating x", 1, 41))
        return APPLIED

    def down(name: str, *, force: bool, report: Report) -> DownResult:
        calls.append(("down", name, force))
        report(Progress("down", "ending processes"))
        return DownResult(name, existed=True, destroyed=0 if force else 40, proven_empty=not force)

    monkeypatch.setattr(sandbox, "up", up)
    monkeypatch.setattr(sandbox, "down", down)
    monkeypatch.setattr(sandbox, "status", lambda name: RUNNING if name == "g4" else ABSENT)
    monkeypatch.setattr(sandbox, "sandbox_names", lambda: ["g4"])
    monkeypatch.setattr(sandbox, "log_names", lambda _: ["etcd", "events"])
    monkeypatch.setattr(sandbox, "logs", lambda name, log, *, lines: [f"{name} {log} [{lines}]"])
    return calls


def test_up_shows_outputs_warnings_and_the_way_on(asked: list[Any]) -> None:
    ran = run("sandbox", "up", "g4")
    assert (ran.code, ran.stderr) == (0, "apply [1/41]: creating x\n")
    assert ran.stdout == (
        "g4: applied to a SIMULATED Google Cloud (40 create, 1 same) in tools 0 s, control plane 8 s, apply 61 s\n"
        "\n"
        "outputs\n"
        "output        value\n"
        "endpoint      http://10.0.0.7\n"
        "kubeconfig    [secret]\n"
        "model         beam\n"
        "connect.curl  curl x\n"
        "connect.port  80\n"
        "clients       one, two\n"
        "\n"
        "warnings\n"
        "warning[not-ready] Pod/engine-1\n"
        "  why:     it waits\n"
        "  remedy:  wait\n"
        "\n"
        "look at it\n"
        ".venv/bin/beamline sandbox status g4\n"
        ".venv/bin/beamline sandbox shell g4 -- kubectl get pods -A\n"
        ".venv/bin/beamline sandbox down g4\n"
    )
    assert [(name, file, config["beamline:preset"]) for _, name, file, config in asked] == [
        ("g4", "Pulumi.g4.yaml", "g4-llmd")
    ]


def test_a_proven_second_up_says_so(asked: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    again = UpResult("g4", {"same": 41}, verified_unchanged=True, outputs={}, warnings=[], seconds={"apply": 5.0})
    monkeypatch.setattr(sandbox, "up", lambda *_, **__: again)
    first = run("sandbox", "up", "g4").stdout.partition("\n")[0]
    assert first == ("g4: applied to a SIMULATED Google Cloud (41 same; applied again: nothing to change) in apply 5 s")
    assert asked == []


def test_a_preset_is_applied_from_a_stack_file_of_its_own(asked: list[Any]) -> None:
    assert run("sandbox", "up", "small-l4").code == 0
    config = {"preset": "small-l4", "project": "your-project-id", "region": "us-central1", "zone": "us-central1-b"}
    assert asked == [("up", "small-l4", "Pulumi.small-l4.yaml", {f"beamline:{k}": v for k, v in config.items()})]


@pytest.mark.parametrize(
    ("stack", "said"), [(MISTAKES, "error[local-ssd-count]"), ("g44", "error[unknown-stack] stack = g44")]
)
def test_mistakes_are_told_before_anything_is_started(asked: list[Any], stack: str, said: str) -> None:
    ran = run("sandbox", "up", stack)
    assert (ran.code, ran.stdout.startswith(said), asked) == (1, True, [])


def test_what_the_engine_and_kubernetes_refuse_is_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def up(*_: object, **__: object) -> None:
        raise ProblemsFound([WARNING, Problem("engine", "Deployment engine", why="0/3 nodes", remedy="look")])

    monkeypatch.setattr(sandbox, "up", up)
    ran = run("sandbox", "up", "g4")
    assert (ran.code, ran.stderr) == (1, "")
    assert ran.stdout.startswith("error[engine] Deployment engine\n  why:     0/3 nodes\n")


@pytest.mark.parametrize("verb", ["up", "down", "status", "logs", "shell"])
def test_trouble_with_the_machine_ends_every_verb_alike(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise EnvironmentProblem("no etcd; install it")

    for name in ("up", "down", "status", "log_names", "shell"):
        monkeypatch.setattr(sandbox, name, fails)
    ran = run("sandbox", verb, "g4")
    assert (ran.code, ran.stdout, ran.stderr) == (3, "", "no etcd; install it\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["g4"], "g4: 40 resources destroyed; cloud and cluster proven empty; servers ended\n"),
        (
            ["stacks/Pulumi.g4.yaml", "--force"],
            "g4: servers ended, folder removed; nothing was destroyed through the engine\n",
        ),
    ],
)
def test_down_says_what_was_proven(asked: list[Any], arguments: list[str], said: str) -> None:
    ran = run("sandbox", "down", *arguments)
    assert (ran.code, ran.stdout, ran.stderr) == (0, said, "down: ending processes\n")
    assert asked == [("down", "g4", "--force" in arguments)]


def test_down_of_nothing_is_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = DownResult("g4", existed=False, destroyed=0, proven_empty=False)
    monkeypatch.setattr(sandbox, "down", lambda *_, **__: nothing)
    assert run("sandbox", "down", "g4").stdout == "g4: there is no sandbox\n"


def test_status_shows_servers_readiness_and_reasons(asked: list[Any]) -> None:
    ran = run("sandbox", "status")
    assert (ran.code, asked) == (0, [])
    assert ran.stdout == (
        "g4: SIMULATED Google Cloud; 1 warning\n"
        "state        degraded\n"
        "applied      yes\n"
        "resources    41\n"
        "nodes ready  3/3\n"
        "pods ready   2/3\n"
        "API server   127.0.0.1:20001\n"
        "kubeconfig   /home/kubeconfig.yaml\n"
        "folder       /home/sandboxes/g4\n"
        "\n"
        "servers\n"
        "server  is         state    pid  MiB\n"
        "etcd    real       running   17   44\n"
        "kwok    simulated  ended     18\n"
        "\n"
        "problems\n"
        "warning[not-ready] Pod/engine-1\n"
        "  why:     it waits\n"
        "  remedy:  wait\n"
    )


def test_status_of_no_sandbox(asked: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "sandbox_names", list)
    assert (run("sandbox", "status").stdout, asked) == ("no sandbox\n", [])
    assert run("sandbox", "status", "g5").stdout.splitlines()[1].split() == ["state", "absent"]


def test_an_error_in_a_sandbox_is_the_exit_code_of_status(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Problem("image-pull", "Pod/x", why="no such image", remedy="correct it")
    monkeypatch.setattr(sandbox, "status", lambda _: replace(RUNNING, problems=[broken]))
    assert run("sandbox", "status", "g4").code == 1


def test_logs_lists_or_shows(asked: list[Any]) -> None:
    assert run("sandbox", "logs", "g4").stdout == "etcd\nevents\n"
    assert run("sandbox", "logs", "g4", "etcd", "--lines", "3").stdout == "g4 etcd [3]\n"
    assert (run("sandbox", "logs", "g4", "etcd", "--lines", "0").code, asked) == (2, [])


DOCUMENTS: dict[str, tuple[list[str], dict[str, Any], int]] = {
    "up": (["up", "g4"], UP, 0),
    "up with mistakes": (["up", MISTAKES], PROBLEMS, 1),
    "down": (["down", "g4"], DOWN, 0),
    "status": (["status"], STATUS, 0),
    "status of nothing": (["status", "g5"], STATUS, 0),
    "logs": (["logs", "g4"], LOGS, 0),
    "a log": (["logs", "g4", "etcd"], LOGS, 0),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_document_has_its_shape(asked: list[Any], name: str) -> None:
    arguments, schema, code = DOCUMENTS[name]
    ran = run("sandbox", *arguments, "--json")
    assert ran.code == code
    assert [error.message for error in Draft202012Validator(schema).iter_errors(ran.json())] == []
    assert len(asked) <= 1


@pytest.fixture
def entered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """Stand in for the shell; returns what would have been executed, and where."""
    calls: list[Any] = []

    def shell(name: str, command: list[str]) -> Shell:
        return Shell([*command] or ["/bin/sh"], {**os.environ, "BEAMLINE_SANDBOX": name}, tmp_path)

    def execvpe(file: str, argv: list[str], environment: dict[str, str]) -> None:
        calls.append((file, argv, environment["BEAMLINE_SANDBOX"], Path.cwd()))

    monkeypatch.chdir(tmp_path.parent)
    monkeypatch.setattr(sandbox, "shell", shell)
    monkeypatch.setattr(os, "execvpe", execvpe)
    return calls


def test_shell_becomes_the_users_shell(entered: list[Any], tmp_path: Path) -> None:
    ran = run("sandbox", "shell", "g4")
    assert ran.stdout == ""
    assert ran.stderr == "SIMULATED Google Cloud of g4; kubectl and pulumi are ready; leave with exit\n"
    assert entered == [("/bin/sh", ["/bin/sh"], "g4", tmp_path)]


def test_shell_runs_one_command_and_keeps_quiet(entered: list[Any], tmp_path: Path) -> None:
    ran = run("sandbox", "shell", "g4", "--", "kubectl", "get", "pods", "-A", "--json")
    assert (ran.stdout, ran.stderr) == ("", "")
    assert entered == [("kubectl", ["kubectl", "get", "pods", "-A", "--json"], "g4", tmp_path)]


def test_shell_tells_scripts_what_to_run(entered: list[Any], tmp_path: Path) -> None:
    ran = run("sandbox", "shell", "g4", "--json", "--", "kubectl", "version")
    assert [error.message for error in Draft202012Validator(SHELL).iter_errors(ran.json())] == []
    assert ran.json() == {
        "command": ["kubectl", "version"],
        "folder": str(tmp_path),
        "environment": {"BEAMLINE_SANDBOX": "g4"},
    }
    assert entered == []


def test_a_command_that_is_not_there_is_no_traceback(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sandbox, "shell", lambda _, command: Shell(list(command), dict(os.environ), tmp_path))
    ran = run("sandbox", "shell", "g4", "--", "no-such-program")
    assert (ran.code, ran.stderr) == (127, "no-such-program cannot be run: No such file or directory\n")
