"""Disks of 64 MiB: each test that asks for one runs on ext4 and on tmpfs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kv_evictor.evictor import Evictor
from kv_evictor.files import open_root
from kv_evictor.limits import Limits

from .disks import MIB, Disk, mounted

CAPACITY = 32 * MIB
DISK = 64 * MIB
Making = Callable[..., Evictor]


@pytest.fixture(params=["ext4", "tmpfs"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    with mounted(request.param, tmp_path, DISK) as there:
        yield there


@pytest.fixture
def tmpfs(tmp_path: Path) -> Iterator[Disk]:
    with mounted("tmpfs", tmp_path, DISK) as there:
        yield there


@pytest.fixture
def evictor_of(monkeypatch: pytest.MonkeyPatch) -> Iterator[Making]:
    """Makes evictors of a disk; they never wait, and young blocks may go unless a test says otherwise."""
    roots: list[int] = []

    def make(disk: Disk, **limits: Any) -> Evictor:
        roots.append(open_root(str(disk.root), mounted=disk.kind != "folder"))
        options = {name: limits.pop(name) for name in ("reads", "now", "wait") if name in limits}
        values = {"capacity_bytes": CAPACITY, "min_age_s": 0, "temp_age_s": 3600, **limits}
        evictor = Evictor(roots[-1], Limits(**values), **{"wait": lambda _: None, **options})
        if disk.kind == "folder":  # what the whole machine's disk says is about others, too
            monkeypatch.setattr(evictor, "_disk", disk.filled)
        return evictor

    yield make
    for root in roots:
        os.close(root)
