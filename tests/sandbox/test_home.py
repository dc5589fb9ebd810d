"""A sandbox's folder, record and lock survive kills and do not mix up sandboxes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import stat
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from beamline.sandbox.home import Home, Record, home_of, locked, sandbox_names, write_atomically
from stacks.problems import EnvironmentProblem, ProblemsFound

_FORK = multiprocessing.get_context("fork")


@pytest.fixture(autouse=True)
def beamline_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BEAMLINE_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", ["g4", "small-l4", "a", "a" * 30])
def test_names_that_folders_and_pulumi_take(name: str, beamline_home: Path) -> None:
    assert home_of(name).folder == beamline_home / "sandboxes" / name


@pytest.mark.parametrize("name", ["", "G4", "4g", "g4-", "../g4", "g4/x", "g_4", ".g4", "a" * 31, "g4\n"])
def test_names_that_are_refused(name: str) -> None:
    with pytest.raises(ProblemsFound, match="sandbox-name"):
        home_of(name)


def test_the_record_comes_back_as_it_was_saved() -> None:
    home = home_of("g4")
    home.create()
    record = Record("g4", 60.0, {"endpoint": "127.0.0.1:1"}, {"etcd": 2}).with_process("etcd", 3, 4.5)
    record.save(home)
    assert Record.load(home) == record


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"name": "g4", "unknown": 1}'])
def test_a_missing_or_broken_record_is_none(text: str | None) -> None:
    home = home_of("g4")
    home.create()
    if text is not None:
        home.record_file.write_text(text)
    assert Record.load(home) is None


def test_what_a_sandbox_writes_is_the_owners_only() -> None:
    home = home_of("g4")
    home.create()
    Record("g4").save(home)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (home.folder, *home.folder.rglob("*"))}
    assert {mode for name, mode in modes.items() if (home.folder / name).is_dir() or name == "g4"} == {0o700}
    assert modes["sandbox.json"] == 0o600


def test_an_interrupted_write_leaves_the_old_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "file"
    write_atomically(file, "old")

    def fail(_handle: int) -> None:
        raise OSError

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError):  # noqa: PT011 - any: what matters is the file
        write_atomically(file, "new")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "old")]


def test_folders_are_sandboxes_and_locks_are_not() -> None:
    for name in ("b", "a"):
        home_of(name).create()
    with locked(home_of("a")):
        assert sandbox_names() == ["a", "b"]


def _hold(home: Home, told: Connection) -> None:
    with locked(home):
        told.send("held")
        signal.pause()


def test_a_second_command_is_refused_until_the_first_is_gone_however_it_ends() -> None:
    home = home_of("g4")
    here, there = _FORK.Pipe(duplex=False)
    holder = _FORK.Process(target=_hold, args=(home, there))
    holder.start()
    here.recv()
    with (
        pytest.raises(EnvironmentProblem, match=f"another command \\(process {holder.pid}\\) is working on sandbox g4"),
        locked(home),
    ):
        pass
    assert holder.pid is not None
    os.kill(holder.pid, signal.SIGKILL)
    holder.join()
    with locked(home):
        pass
    assert list(home.folder.parent.iterdir()) == []  # not even the lock stays


def test_another_sandbox_is_not_locked() -> None:
    with locked(home_of("a")), locked(home_of("b")):
        pass
