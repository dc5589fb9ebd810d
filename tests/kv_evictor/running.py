"""The program as a process of its own, and what its metrics say."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .disks import MIB, Disk

__all__ = ["PROGRAM", "Running", "running"]

CAPACITY = 32 * MIB
PROGRAM = Path(__file__).parents[2]
"""Where its package is found: the checkout, or the folder that the sidecar mounts it in."""


@dataclass
class Running:
    """The program as its own process."""

    process: subprocess.Popen[str]
    port: int

    def metric(self, name: str) -> float:
        address = f"http://127.0.0.1:{self.port}/metrics"
        with urllib.request.urlopen(address, timeout=30) as answer:
            lines = answer.read().decode().splitlines()
        (value,) = [line.split()[-1] for line in lines if line.split(" ")[0] == f"beamline_kv_evictor_{name}"]
        return float(value)

    def walk(self) -> None:
        """Return once a walk that began after this call has ended."""
        scans = self.metric("scans_total")
        while self.metric("scans_total") < scans + 2:
            assert self.process.poll() is None

    def settle(self) -> None:
        """Return once such a walk has found nothing to do."""
        settled = False
        while not settled:
            evicted = self.metric("evicted_files_total")
            self.walk()
            settled = self.metric("evicted_files_total") == evicted

    def end(self, by: signal.Signals) -> int:
        self.process.send_signal(by)
        self.process.communicate()
        return self.process.returncode


@contextmanager
def running(disk: Disk) -> Iterator[Running]:
    """The evictor of a disk, killed when it is not needed any more."""
    any_folder = ["--any-folder"] if disk.kind == "folder" else []
    paces = ["--tick-s", "0.002", "--scan-every-s", "0.01", "--min-age-s", "0"]
    bounds = ["--root", str(disk.root), "--capacity-bytes", str(CAPACITY)]
    command = [sys.executable, "-S", "-m", "kv_evictor", *bounds, "--port", "0", *paces, *any_folder]
    process = subprocess.Popen(command, cwd=PROGRAM, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process:
        try:
            yield Running(process, json.loads(process.stdout.readline())["port"])
        finally:
            process.kill()
