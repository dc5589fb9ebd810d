"""Locks: whose they are, and whether their process still runs."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest

from beamline.recovery.locks import Lock, held, locks_in_files, locks_in_message, read_lock

NOBODY = 2**22 + 1
"""No process has a number so high."""


def _lock(root: Path, *place: str, pid: int = NOBODY, host: str = "") -> Path:
    file = root.joinpath(".pulumi", "locks", *place, "0f.json")
    file.parent.mkdir(parents=True)
    own = {"pid": pid, "username": "ann", "hostname": host or socket.gethostname(), "timestamp": "2026-11-30T05:00:00Z"}
    file.write_text(json.dumps(own))
    return file


@pytest.mark.parametrize("place", [("organization", "beamline", "dev"), ("dev",)], ids=["today's", "an older one"])
def test_a_lock_whose_process_is_gone_is_stale(tmp_path: Path, place: tuple[str, ...]) -> None:
    file = _lock(tmp_path, *place)
    (found,) = locks_in_files(f"{tmp_path.as_uri()}?no_tmp_dir=true", "beamline", "dev")
    assert found == Lock(str(file), "ann", socket.gethostname(), NOBODY, "2026-11-30T05:00:00Z")
    assert found.is_stale


@pytest.mark.parametrize("place", [("organization", "other", "dev"), ("organization", "beamline", "prod")])
def test_locks_of_other_stacks_are_others(tmp_path: Path, place: tuple[str, ...]) -> None:
    _lock(tmp_path, *place)
    assert locks_in_files(tmp_path.as_uri(), "beamline", "dev") == []


def test_a_process_that_is_no_pulumi_got_the_number_later(tmp_path: Path) -> None:
    _lock(tmp_path, "organization", "beamline", "dev", pid=os.getpid())
    assert locks_in_files(tmp_path.as_uri(), "beamline", "dev")[0].is_stale


def test_a_running_pulumi_holds_its_stack(tmp_path: Path) -> None:
    program = tmp_path / "pulumi"
    program.symlink_to("/bin/cat")
    with subprocess.Popen([str(program)], stdin=subprocess.PIPE) as process:
        _lock(tmp_path, "organization", "beamline", "dev", pid=process.pid)
        (found,) = locks_in_files(tmp_path.as_uri(), "beamline", "dev")
        assert not found.is_stale
        problem = held(found, "dev")
        process.communicate()
    assert (problem.why, problem.remedy) == (
        "a Pulumi command is working on it",
        "wait until it ends, or interrupt it",
    )


def test_another_machines_lock_is_never_stale(tmp_path: Path) -> None:
    _lock(tmp_path, "organization", "beamline", "dev", host="elsewhere")
    (found,) = locks_in_files(tmp_path.as_uri(), "beamline", "dev")
    assert not found.is_stale
    assert held(found, "dev").remedy == (
        "make sure that nothing runs on elsewhere, then `pulumi cancel --yes --stack dev` and repeat; "
        "nothing was changed"
    )


@pytest.mark.parametrize("text", ["{", "", "[]", '{"pid": "x"}', None])
def test_a_lock_that_cannot_be_read_is_somebodys(tmp_path: Path, text: str | None) -> None:
    """A Pulumi that is writing its lock right now looks the same as one that was killed while it did."""
    file = _lock(tmp_path, "organization", "beamline", "dev")
    if text is None:
        file.unlink()
        file.mkdir()
    else:
        file.write_text(text)
    (found,) = locks_in_files(tmp_path.as_uri(), "beamline", "dev")
    assert not found.is_stale
    problem = held(found, "dev")
    assert (problem.rule, problem.value, problem.where) == ("stack-locked", "held by somebody unknown", str(file))
    assert problem.remedy == (
        "repeat in a moment; if it stays so, make sure that no Pulumi works on dev anywhere, then "
        "`pulumi cancel --yes --stack dev` and repeat; nothing was changed"
    )


def test_a_lock_that_was_given_back_in_the_meantime_is_none(tmp_path: Path) -> None:
    assert read_lock(tmp_path / "0f.json") is None


def test_other_backends_name_their_locks_when_they_refuse() -> None:
    assert locks_in_files("gs://bucket", "beamline", "dev") == []
    said = "locked by 2 lock(s).\n  gs://b/x: created by a@h (pid 1) at T1\n  gs://b/y: created by b@i (pid 2) at T2"
    assert [str(lock) for lock in locks_in_message(said)] == ["a@h, process 1, since T1", "b@i, process 2, since T2"]
