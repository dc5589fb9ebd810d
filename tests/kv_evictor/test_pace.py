"""When a walk is due, and how fast blocks go."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import CAPACITY, Making
from .disks import Disk
from .filling import FEW, MANY, count_of, filled, stored
from .tier import Tier


def test_a_pass_is_due_when_the_disk_fills_up_and_once_in_a_while(
    tmpfs: Disk, evictor_of: Making, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = [1000.0]
    monkeypatch.setattr("kv_evictor.evictor.time.monotonic", lambda: seconds[0])
    evictor = evictor_of(tmpfs)
    assert evictor.due(60)
    evictor.pass_once()
    seconds[0] += 1
    assert not evictor.due(60)
    stored(tmpfs, MANY)
    assert evictor.due(60)
    evictor.pass_once()
    assert not evictor.due(60)
    seconds[0] += 60
    assert evictor.due(60)


@pytest.mark.parametrize(("full", "in_use", "rest_s"), [(False, False, 200), (True, False, 0), (True, True, 30)])
def test_a_walk_that_takes_long_is_made_less_often(
    tmpfs: Disk, evictor_of: Making, monkeypatch: pytest.MonkeyPatch, full: bool, in_use: bool, rest_s: int
) -> None:
    """Of ten seconds: a twentieth of the time to learn what is read, a third when nothing may go, else as needed."""
    seconds = [1000.0]
    monkeypatch.setattr("kv_evictor.evictor.time.monotonic", lambda: seconds[0])
    monkeypatch.setattr("kv_evictor.evictor.idle", lambda _: not in_use)
    tier = stored(tmpfs, MANY if full else FEW)
    evictor = evictor_of(tmpfs)
    visiting = evictor._visit

    def visit_slowly(*arguments: Any) -> bool:
        seconds[0] += 0 if arguments[1] else 10
        return visiting(*arguments)

    monkeypatch.setattr(evictor, "_visit", visit_slowly)
    evictor.pass_once()
    if full:
        filled(tier, MANY, CAPACITY)

    seconds[0] = max(1010, 1000 + rest_s - 1)
    assert evictor.due(60) == (rest_s == 0)
    seconds[0] = max(1010, 1000 + rest_s)
    assert evictor.due(60)


@pytest.mark.parametrize("share", [0.98, 1.1])
def test_deletions_are_paced_unless_the_capacity_is_passed(
    tmpfs: Disk, evictor_of: Making, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    monkeypatch.setattr("kv_evictor.evictor.time.monotonic", lambda: 1000.0)
    filled(Tier(tmpfs.root), 0, int(CAPACITY * share))
    waits: list[float] = []
    evictor = evictor_of(tmpfs, deletions_per_s=100, wait=waits.append)

    evictor.pass_once()

    paced = [moment / 100 for moment in range(20, count_of(evictor, "evicted_files") + 1, 20)]
    assert len(paced) > 2
    assert waits == paced[len(paced) - len(waits) :]
    assert (len(waits) == len(paced)) == (share < 1)


def test_a_long_walk_keeps_the_heart_beating(tmpfs: Disk, evictor_of: Making, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(tmpfs, 20)
    evictor, beats, seconds = evictor_of(tmpfs), set[float](), iter(range(1 << 30))
    accounting = evictor._account

    def account(*arguments: Any) -> None:
        beats.add(evictor.heartbeat)
        accounting(*arguments)

    monkeypatch.setattr("kv_evictor.evictor.time.monotonic", lambda: float(next(seconds)))
    monkeypatch.setattr(evictor, "_account", account)
    evictor.pass_once()

    assert len(beats) == 20  # blocks have a folder each
