"""The program as the sidecar runs it: what it refuses, what it answers, how it ends, and as whom it works."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from kv_evictor.evictor import Evictor
from kv_evictor.files import RefusedError, check_leases, open_root
from kv_evictor.limits import Limits
from kv_evictor.log import Log
from kv_evictor.server import Server

from .conftest import CAPACITY, Making
from .disks import Disk, allocated
from .filling import MANY, present, stored
from .running import PROGRAM, running

NOBODY = 65534


def refused(*arguments: str) -> str:
    """Why the program did not start; it must end with 2 and touch nothing."""
    command = [sys.executable, "-m", "kv_evictor", "--capacity-bytes", "1000000", "--port", "0", *arguments]
    ended = subprocess.run(command, cwd=PROGRAM, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 2, ended.stderr
    (line,) = ended.stdout.splitlines()
    said = json.loads(line)
    assert said["event"] == "refused"
    why: str = said["why"]
    return why


def test_a_root_that_is_not_the_expected_mount_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "file").touch()

    assert "not /" in refused("--root", "/")
    assert "nothing is mounted" in refused("--root", str(tmp_path))
    assert "symbolic links" in refused("--root", str(link), "--any-folder")
    assert "absolute" in refused("--root", "relative", "--any-folder")
    assert "Not a directory" in refused("--root", str(tmp_path / "file"), "--any-folder")
    assert "No such file" in refused("--root", str(tmp_path / "none"), "--any-folder")


def test_bounds_that_mean_nothing_are_refused(tmp_path: Path) -> None:
    assert "low water" in refused("--root", str(tmp_path), "--any-folder", "--low-percent", "95")


def test_a_mount_is_taken_as_root(tmpfs: Disk) -> None:
    os.close(open_root(str(tmpfs.root), mounted=tmpfs.kind != "folder"))


def test_a_file_system_without_leases_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: int) -> int:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr("kv_evictor.files.fcntl.fcntl", unsupported)

    with pytest.raises(RefusedError, match="no leases"):
        check_leases(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_it_says_what_it_does_in_the_words_of_prometheus(tmpfs: Disk) -> None:
    tier = stored(tmpfs, MANY)
    with running(tmpfs) as evictor:
        evictor.settle()
        with urllib.request.urlopen(f"http://127.0.0.1:{evictor.port}/metrics", timeout=30) as answer:
            kind, text = answer.headers["Content-Type"], answer.read().decode()
        with urllib.request.urlopen(f"http://127.0.0.1:{evictor.port}/healthz", timeout=30) as answer:
            assert answer.status == 200
        assert evictor.end(signal.SIGTERM) == 0

    assert kind == "text/plain; version=0.0.4; charset=utf-8"
    lines = text.splitlines()
    names = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(names) == len(set(names))
    for line in lines:
        if not line.startswith("#"):
            assert re.fullmatch(r'beamline_kv_evictor_[a-z_]+(\{[a-z]+="\w+"\})? [0-9.e+-]+', line)
    assert names == [line.split()[2] for line in lines if line.startswith("# HELP")]
    assert f"beamline_kv_evictor_files {len(present(tier, MANY))}" in lines
    assert allocated(tmpfs.root) < CAPACITY * 95 // 100
    assert f"beamline_kv_evictor_used_bytes {allocated(tmpfs.root)}" in lines


def test_a_loop_that_stands_still_is_said_to_be_dead(tmpfs: Disk, evictor_of: Making) -> None:
    evictor = evictor_of(tmpfs)
    evictor.heartbeat -= 200
    with Server("127.0.0.1", 0, evictor, stall_s=120) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        with pytest.raises(urllib.error.HTTPError, match="503"):
            urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/healthz", timeout=30)


def test_a_failing_root_stops_the_heartbeat_and_not_the_loop(
    tmpfs: Disk, evictor_of: Making, monkeypatch: pytest.MonkeyPatch
) -> None:
    evictor = evictor_of(tmpfs)
    before = evictor.heartbeat
    turns = iter(range(3))

    def wait(_: float) -> None:
        if next(turns, None) is None:
            raise SystemExit

    def fails(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(evictor, "_wait", wait)
    monkeypatch.setattr("kv_evictor.evictor.os.fstatvfs", fails)
    with pytest.raises(SystemExit):
        evictor.run(1, 60)

    assert evictor.counts["errors", "EIO"] == 4
    assert evictor.heartbeat == before


def test_a_root_that_is_gone_ends_it(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    fd = open_root(str(root), mounted=False)
    root.rmdir()

    with pytest.raises(RefusedError, match="removed"):
        Evictor(fd, Limits(1000)).run(1, 60)
    os.close(fd)


def test_an_event_comes_once_in_a_while_and_says_what_was_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds, lines = [0.0], list[str]()
    monkeypatch.setattr("kv_evictor.log.time.monotonic", lambda: seconds[0])
    log = Log(lines.append, every_s=30)
    for moment in (0, 1, 29, 30):
        seconds[0] = moment
        log.say("evicted", blocks=moment)
        log.say("started")

    said = [json.loads(line) for line in lines]
    assert [(line["event"], line.get("blocks"), line.get("left_out")) for line in said] == [
        ("evicted", 0, None),
        ("started", None, None),
        ("evicted", 30, 2),
        ("started", None, 2),
    ]


def test_it_works_as_an_unprivileged_user_and_leaves_files_of_others(disk: Disk) -> None:
    tier = stored(disk, MANY)
    root = os.geteuid() == 0
    for path in [disk.root, *disk.root.rglob("*")] if root else []:
        os.chown(path, NOBODY, NOBODY)
    if root:
        os.chown(tier.path(0), 0, 0)
    child = os.fork()
    if child == 0:
        os.chdir(disk.root)  # the folders above are the test's user's alone
        if root:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
        check_leases(".")
        Evictor(os.open(".", os.O_RDONLY), Limits(CAPACITY, min_age_s=0), wait=lambda _: None).pass_once()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0

    left = present(tier, MANY)
    assert left == [*([0] if root else []), *range(MANY - len(left) + root, MANY)]
    assert MANY // 2 < len(left) < MANY
