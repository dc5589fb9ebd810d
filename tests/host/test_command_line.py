"""The real command line with this host: what a user reads, and that nothing stays behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

import psutil
import pytest

from tests.engine.real_engine import RealProject
from tests.engine.text_programs import PRELUDE
from tests.host.test_host import PROBLEM_TEXT, REPORTED, WAITING

pytestmark = pytest.mark.sandbox


@pytest.fixture
def project(tmp_path: Path, tools: Callable[[str], Path]) -> Callable[[str], RealProject]:
    """Make a project with a stack for a program given as text."""

    def make(text: str) -> RealProject:
        program = tmp_path / "program"
        program.mkdir()
        (program / "__main__.py").write_text(PRELUDE + dedent(text))
        project = RealProject(tmp_path / "project", program, pulumi=tools("pulumi"))
        project.create_stack()
        return project

    return make


@pytest.mark.parametrize("command", [["preview"], ["up", "--yes", "--skip-preview"]], ids=lambda words: words[0])
def test_problems_read_the_same_as_in_a_plan(project: Callable[[str], RealProject], command: list[str]) -> None:
    """The very lines of a plan, once, as the update's only error; exit code 1; no traceback."""
    done = project(REPORTED + "PROBLEMS").pulumi(*command, check=False)
    diagnostics = dedent(done.stdout.partition("Diagnostics:\n")[2].partition("\n\n")[0]).splitlines()
    diagnostics = [line for line in diagnostics if "pulumi-language-python from $PATH" not in line]
    assert (done.returncode, dedent("\n".join(diagnostics[1:]))) == (
        1,
        f"error: 1 problem in this stack:\n{PROBLEM_TEXT}",
    )
    assert "Traceback" not in done.stdout + done.stderr


@contextmanager
def waiting_preview(project: RealProject) -> Iterator[tuple[subprocess.Popen[str], list[psutil.Process]]]:
    """Start a preview whose program waits; yield it with every process it has started."""
    command = [str(project._pulumi), "preview", "--non-interactive"]
    with subprocess.Popen(
        command,
        cwd=project.folder,
        env=project.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as preview:
        assert preview.stdout is not None
        while not re.search(r"program \d+", line := preview.stdout.readline()):
            assert line, "the preview ended before its program ran"
        started = psutil.Process(preview.pid).children(recursive=True)
        assert len(started) == 2  # the host and the program
        try:
            yield preview, started
        finally:
            preview.kill()


def test_an_interrupted_preview_leaves_no_process_and_no_traceback(project: Callable[[str], RealProject]) -> None:
    with waiting_preview(project(WAITING)) as (preview, started):
        preview.send_signal(signal.SIGINT)
        output, _ = preview.communicate(timeout=60)
        assert preview.returncode != 0
        assert "Traceback" not in output
        assert psutil.wait_procs(started, timeout=60)[1] == []


def test_a_killed_command_line_leaves_no_process(project: Callable[[str], RealProject]) -> None:
    """Nothing tells the host that the engine was killed; it notices the end of its standard input."""
    with waiting_preview(project(WAITING)) as (preview, started):
        os.kill(preview.pid, signal.SIGKILL)
        assert psutil.wait_procs(started, timeout=60)[1] == []


def test_stack_files_live_in_the_stacks_folder(project: Callable[[str], RealProject]) -> None:
    """``stackConfigDir``: config set edits stacks/Pulumi.<stack>.yaml in place and keeps its comments."""
    real = project("pulumi.export('seen', pulumi.Config().require_object('overrides'))")
    file = real.folder / "stacks" / "Pulumi.dev.yaml"
    salt = file.read_text()
    file.write_text(
        f"# yaml-language-server: $schema=schemas/stack.schema.json\nconfig:\n  beamline:preset: kit\n{salt}"
    )
    real.pulumi("config", "set", "preset", "other")
    real.pulumi("config", "set", "--path", "overrides.pools.nodes", "2")
    assert file.read_text() == dedent(
        f"""\
        # yaml-language-server: $schema=schemas/stack.schema.json
        config:
          beamline:preset: other
          beamline:overrides:
            pools:
              nodes: 2
        {salt}"""
    )
    assert list(real.folder.glob("Pulumi*.yaml")) == [real.folder / "Pulumi.yaml"]
    assert "nodes: 2" in real.pulumi("preview").stdout
