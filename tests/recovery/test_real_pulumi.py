"""The real command line of Pulumi and its file backend: locks, stacks that are not there, states, keys."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from beamline.recovery import Engine, look, mend
from stacks.problems import EnvironmentProblem, ProblemsFound
from tests.engine.real_engine import RealProject
from tests.recovery.states import document, network

pytestmark = pytest.mark.sandbox

WAITS = """
import pathlib, time
pathlib.Path("running").touch()
while True: time.sleep(1)
"""


@pytest.fixture
def project(tmp_path: Path, tools: Callable[[str], Path]) -> RealProject:
    program = tmp_path / "nothing"
    program.mkdir()
    (program / "__main__.py").write_text("")
    made = RealProject(tmp_path / "project", program, pulumi=tools("pulumi"))
    made.create_stack()
    return made


@pytest.fixture
def engine(project: RealProject, tools: Callable[[str], Path]) -> Engine:
    return Engine(tools("pulumi"), project.folder, project.environment)


def _silent(_: str) -> None:
    pass


def _rules(raised: pytest.ExceptionInfo[ProblemsFound]) -> list[str]:
    return [problem.rule for problem in raised.value.problems]


def _locks(project: RealProject) -> list[Path]:
    return list((project.folder / "state" / ".pulumi" / "locks").rglob("*.json"))


@pytest.fixture
def running(project: RealProject, tools: Callable[[str], Path]) -> Iterator[subprocess.Popen[bytes]]:
    """A real `pulumi up` that waits for its program."""
    (project.folder / "program" / "__main__.py").write_text(WAITS)
    command = [str(tools("pulumi")), "up", "--yes", "--skip-preview", "--non-interactive"]
    with subprocess.Popen(
        command, cwd=project.folder, env=project.environment, stdout=subprocess.DEVNULL, process_group=0
    ) as process:
        while not _locks(project) and process.poll() is None:
            os.sched_yield()
        yield process
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    (project.folder / "program" / "__main__.py").write_text("")


def test_a_stack_that_is_being_worked_on_is_left_alone_until_its_engine_is_killed(
    running: subprocess.Popen[bytes], project: RealProject, engine: Engine
) -> None:
    with pytest.raises(ProblemsFound, match=f"@{socket.gethostname()}, process {running.pid}, since") as raised:
        look(engine, "dev", _silent)
    assert _rules(raised) == ["stack-locked"]
    assert len(_locks(project)) == 1
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    (project.folder / "program" / "__main__.py").write_text("")
    case = look(engine, "dev", _silent)
    assert [finding.will for finding in case.findings] == ["cancel it"]
    assert [each.did for each in mend(engine, case, _silent).outcomes] == ["cancelled"]
    assert _locks(project) == []
    assert look(engine, "dev", _silent).findings == ()


def test_a_stack_that_is_not_there(engine: Engine) -> None:
    with pytest.raises(ProblemsFound, match="has no stack 'prod' of this project") as raised:
        look(engine, "prod", _silent)
    assert _rules(raised) == ["unknown-stack"]


def test_no_backend_is_the_machines_trouble(engine: Engine, tmp_path: Path) -> None:
    nowhere = {**engine.environment, "PULUMI_BACKEND_URL": (tmp_path / "gone").as_uri()}
    with pytest.raises(EnvironmentProblem, match="`pulumi login` chooses one"):
        look(Engine(engine.pulumi, engine.folder, nowhere), "dev", _silent)


def test_the_wrong_passphrase_is_said_and_nothing_is_changed(
    project: RealProject, engine: Engine, tmp_path: Path
) -> None:
    file = tmp_path / "state.json"
    before = json.loads(project.pulumi("stack", "export").stdout)
    before["deployment"]["resources"] = document(network(id="n"))["deployment"]["resources"]
    file.write_text(json.dumps(before))
    project.pulumi("stack", "import", "--file", str(file))
    _crash(project)
    wrong = Engine(engine.pulumi, engine.folder, {**engine.environment, "PULUMI_CONFIG_PASSPHRASE": "wrong"})
    exported = project.pulumi("stack", "export").stdout
    with pytest.raises(ProblemsFound, match="incorrect passphrase") as raised:
        look(wrong, "dev", _silent)
    assert _rules(raised) == ["state-secrets"]
    assert project.pulumi("stack", "export").stdout == exported


def _crash(project: RealProject) -> None:
    """Write a pending operation where only a crash leaves one: Pulumi imports none."""
    (file,) = (project.folder / "state" / ".pulumi" / "stacks").rglob("dev.json")
    checkpoint = json.loads(file.read_text())
    pending = [{"resource": network(), "type": "creating"}]
    checkpoint["checkpoint"]["latest"]["pending_operations"] = pending
    file.write_text(json.dumps(checkpoint))
