"""A server of the sandbox that ended is named at once: the engine would wait for its work until a time-out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil

from beamline.sandbox.control_plane import ended
from beamline.sandbox.home import Home, Record


def test_only_servers_that_run_no_more_are_named() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as short:
        created_s = psutil.Process(short.pid).create_time()
    record = Record("test").with_process("operators", short.pid, created_s)
    record = record.with_process("kwok", os.getpid(), psutil.Process().create_time())
    (problem,) = ended(Home("test", Path("/sandboxes/test")), record)
    assert problem.path == "sandbox.operators"
    assert problem.remedy.startswith("see why in /sandboxes/test/logs/operators.log, then run the command again")
