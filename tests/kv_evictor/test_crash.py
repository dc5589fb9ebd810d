"""Killed at any system call that changes something, and started anew: nothing is lost but time."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kv_evictor.evictor import Evictor

from .conftest import CAPACITY, Making
from .disks import Disk, allocated
from .filling import MANY, dated, present, stored
from .tier import BLOCK_BYTES, Tier

READ = range(0, 60, 3)
CHANGES = ("unlink", "rmdir", "utime")


def prepared(disk: Disk) -> Tier:
    """More than fits, some of it read, a dead writer's file and a folder that was empty for long."""
    tier = stored(disk, MANY)
    for key in READ:
        tier.load(key)
    temporary = tier.path(1).with_name(f"{tier.path(1).name}_1.tmp")
    temporary.write_bytes(b"t" * 4096)
    tier.path(2).unlink()
    for path in (temporary, tier.path(2).parent):
        dated(path, 0)
    return tier


def killed_at(evictor: Evictor, number: int, *, after: bool) -> bool:
    """Run a pass in a child that is killed before or after its ``number``-th change; whether it got that far."""
    child = os.fork()
    if child == 0:
        calls = iter(range(1, 1 << 30))
        for name in CHANGES:
            setattr(os, name, dying(getattr(os, name), calls, number, after))
        evictor.pass_once()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def dying(call: Callable[..., Any], calls: Iterator[int], number: int, after: bool) -> Callable[..., Any]:
    def wrapped(*arguments: Any, **options: Any) -> Any:
        last = next(calls) == number
        if last and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        done = call(*arguments, **options)
        if last:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    return wrapped


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", [1, 7, 40])
def test_a_pass_that_is_killed_again_and_again_ends_where_one_pass_does(
    disk: Disk, evictor_of: Making, step: int, after: bool
) -> None:
    tier = prepared(disk)
    limits: dict[str, Any] = {"temp_age_s": 300, "empty_folder_age_s": 3600}
    kills = 0
    while kills < 30 and killed_at(evictor_of(disk, **limits), step * (kills + 1), after=after):
        kills += 1
    evictor = evictor_of(disk, **limits)

    evictor.pass_once()

    left = [key for key in present(tier, MANY) if key not in READ]
    assert kills > 1
    assert present(tier, 60) == list(READ)
    assert left == list(range(left[0], MANY))
    assert CAPACITY * 85 // 100 - BLOCK_BYTES < allocated(disk.root) < CAPACITY * 95 // 100
    assert all(tier.load(key) for key in left)
    assert not tier.path(2).parent.exists()
    assert not list(disk.root.rglob("*.tmp"))
    assert evictor.gauges["used_bytes"] == allocated(disk.root)
