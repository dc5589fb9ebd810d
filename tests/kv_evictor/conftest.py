"""Disks of 64 MiB: each test that asks for one runs on ext4 and on tmpfs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

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
def evictor_of() -> Iterator[Making]:
    """Makes evictors of a disk; they never wait, and young blocks may go unless a test says otherwise."""
    roots: list[int] = []

    def make(disk: Disk, **limits: float) -> Evictor:
        roots.append(open_root(str(disk.root), mounted=disk.kind != "folder"))
        options = {name: limits.pop(name) for name in ("reads", "now", "log") if name in limits}
        values = {"capacity_bytes": CAPACITY, "min_age_s": 0, "temp_age_s": 3600, **limits}
        return Evictor(roots[-1], Limits(**values), wait=lambda _: None, **options)

    yield make
    for root in roots:
        os.close(root)
