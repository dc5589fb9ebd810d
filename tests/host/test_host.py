"""The language host by itself: it runs programs, says how they ended, and never leaves one behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import grpc
import psutil
import pytest
import yaml
from google.protobuf import empty_pb2
from pulumi.runtime.proto import language_pb2, language_pb2_grpc

from beamline.engine import run_program
from beamline.host import server
from stacks.problems import Problem, to_text
from stacks.pulumi_values import pulumi_config, secret_keys
from tests.engine.comparison import differences
from tests.engine.real_engine import CHECKOUT
from tests.engine.test_two_drivers import PROGRAMS, STACK_FILE
from tests.engine.text_programs import PRELUDE
from tests.host.served_engine import ServedEngine, served_engine

PROBLEM_TEXT = to_text([Problem(rule="ssd", path="pools.g4.local_ssd", value=3, why="no such count", remedy="use 32")])
REPORTED = "from components.program import problems_reported\nwith problems_reported():\n    raise "
WAITING = "import os, threading\nprint('program', os.getpid())\nthreading.Event().wait()"


@pytest.fixture
def engine() -> Iterator[ServedEngine]:
    with served_engine() as engine:
        yield engine


class Host:
    """A host process, in a process group of its own as the command line starts it."""

    def __init__(self, engine: ServedEngine) -> None:
        self.engine = engine
        self.process = subprocess.Popen(
            [sys.executable, "-m", "beamline.host", engine.address],
            cwd=CHECKOUT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.input, self.output = self.process.stdin, self.process.stdout
        self.channel = grpc.insecure_channel(f"127.0.0.1:{self.output.readline().strip()}")
        self.stub = language_pb2_grpc.LanguageRuntimeStub(self.channel)

    def request(self, program: Path, config: dict[str, object] | None = None) -> language_pb2.RunRequest:
        settings = config or {}
        return language_pb2.RunRequest(
            project="beamline",
            stack="dev",
            pwd=str(program),
            config=pulumi_config(settings),
            configSecretKeys=secret_keys(settings),
            dryRun=True,
            parallel=4,
            monitor_address=self.engine.address,
            organization="organization",
            info=language_pb2.ProgramInfo(root_directory=str(program), program_directory=str(program), entry_point="."),
        )

    def end(self) -> None:
        self.channel.close()
        self.process.kill()
        self.process.wait()
        self.input.close()
        self.output.close()


@pytest.fixture
def host(engine: ServedEngine) -> Iterator[Host]:
    host = Host(engine)
    yield host
    host.end()


def program(folder: Path, text: str) -> Path:
    (folder / "__main__.py").write_text(PRELUDE + dedent(text))
    return folder


@pytest.mark.sandbox
@pytest.mark.parametrize("name", ["kit", "nested"])
def test_a_program_registers_the_same_graph_in_a_subprocess(host: Host, name: str) -> None:
    """Over gRPC, with threads and in another process, a program asks for what it asks for in process."""
    config = yaml.safe_load(STACK_FILE.read_text())["config"]
    assert host.stub.Run(host.request(PROGRAMS / name, config)) == language_pb2.RunResponse()
    plan = run_program(PROGRAMS / name, project="beamline", stack="dev", config=config)
    assert differences(plan, host.engine.graph()) == []


BAIL = language_pb2.RunResponse(bail=True)
ENDINGS = {
    "well": ("", language_pb2.RunResponse(), []),
    "problems, reported": (
        REPORTED + "PROBLEMS",
        BAIL,
        [f"1 problem in this stack:\n{PROBLEM_TEXT}"],
    ),
    "problems from an apply": (
        "def fail(_):\n    raise PROBLEMS\nThing('t', {'p': pulumi.Output.from_input('x').apply(fail)})",
        BAIL,
        [f"1 problem in this stack:\n{PROBLEM_TEXT}"],
    ),
    "environment": (
        REPORTED + "EnvironmentProblem('no tool')",
        BAIL,
        ["no tool"],
    ),
    "run error": ("raise pulumi.RunError('stop')", BAIL, ["stop"]),
    "exit": (
        "import sys; sys.exit(3)",
        language_pb2.RunResponse(error="program exited with non-zero exit code: 3"),
        [],
    ),
}


@pytest.mark.sandbox
@pytest.mark.parametrize("case", ENDINGS)
def test_how_a_program_ended_reaches_the_engine(host: Host, tmp_path: Path, case: str) -> None:
    """Each ending with its answer and every message the user sees: problems once, as text, without a traceback."""
    text, answer, messages = ENDINGS[case]
    assert host.stub.Run(host.request(program(tmp_path, text))) == answer
    assert host.engine.messages() == messages


@pytest.mark.sandbox
def test_a_defect_is_shown_from_the_programs_first_line(host: Host, tmp_path: Path) -> None:
    """The traceback leaves out the host's own frames."""
    assert host.stub.Run(host.request(program(tmp_path, "1 / 0"))) == BAIL
    (message,) = host.engine.messages()
    line = PRELUDE.count("\n") + 1
    assert message.splitlines()[:3] == [
        "Program failed with an unhandled exception:",
        "Traceback (most recent call last):",
        f'  File "{tmp_path}/__main__.py", line {line}, in <module>',
    ]
    assert message.splitlines()[-1] == "ZeroDivisionError: division by zero"


ENDS: dict[str, Callable[[Host, grpc.Future], object]] = {
    "interrupt": lambda host, _: os.killpg(host.process.pid, signal.SIGINT),
    "terminate": lambda host, _: host.process.terminate(),
    "engine gone": lambda host, _: host.input.close(),
    "host killed": lambda host, _: host.process.kill(),
    "cancel request": lambda host, _: host.stub.Cancel(empty_pb2.Empty()),
    "call cancelled": lambda _, call: call.cancel(),
}


@pytest.mark.sandbox
@pytest.mark.parametrize("end", ENDS)
def test_no_program_outlives_its_update(host: Host, tmp_path: Path, end: str) -> None:
    """However an update ends, the program that still runs ends too, and nobody prints a traceback."""
    call = host.stub.Run.future(host.request(program(tmp_path, WAITING)))
    word, pid = host.output.readline().split()
    assert word == "program"
    running = psutil.Process(int(pid))
    ENDS[end](host, call)
    assert psutil.wait_procs([running], timeout=60)[1] == []
    if end not in ("cancel request", "call cancelled"):  # these end the program, not the host
        assert host.process.wait(timeout=60) == (-signal.SIGKILL if end == "host killed" else 0)
        assert host.output.read() == ""


def test_a_program_that_will_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the grace period a program that ignores the request to end is ended by force."""
    monkeypatch.setattr(server, "_GRACE_S", 0.1)
    stubborn = (
        "import signal, threading; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(); threading.Event().wait()"
    )
    with subprocess.Popen([sys.executable, "-u", "-c", stubborn], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        server.LanguageHost("127.0.0.1:1")._end(process)
        assert process.returncode == -signal.SIGKILL


def test_the_host_says_how_it_is_used() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "beamline.host"], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: pulumi-language-python ENGINE_ADDRESS")
