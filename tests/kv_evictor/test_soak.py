"""A disk that fills up: two writers, two readers and the evictor, each a process, on a real file system.

What ends it is work, not time: all meet after each round, and the evictor has walked once in it. A round uses less than
low water holds, so an evictor that keeps to the order of use removes no hot block, however slow or late anybody is.
"""

from __future__ import annotations

import multiprocessing as mp
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.synchronize import Barrier, Event, Semaphore
from pathlib import Path
from typing import Any

import pytest

from kv_evictor.evictor import Evictor
from kv_evictor.files import open_root
from kv_evictor.limits import Limits

from .disks import MIB, Disk, allocated, mounted
from .tier import BLOCK_BYTES, Tier, TornError

CAPACITY, DISK = 32 * MIB, 48 * MIB
ROUNDS, BLOCKS = 14, 40
"""Rounds, and blocks that each writer stores in one."""
HOT = range(1_000_000, 1_000_032)
CONTEXT: SpawnContext = mp.get_context("spawn")
Said = Any


@dataclass
class Evicting:
    """The evictor, in a process that walks without pause; it says so after each walk, and what it did at the end."""

    process: SpawnProcess
    walked: Semaphore
    stop: Event
    said: Said

    @classmethod
    def start(cls, disk: Disk) -> Evicting:
        shared = (CONTEXT.Semaphore(0), CONTEXT.Event(), CONTEXT.SimpleQueue())
        process = CONTEXT.Process(target=evict, args=(disk, *shared))
        process.start()
        return cls(process, *shared)

    def walk(self) -> None:
        """Return once a walk that began after this call has ended."""
        while self.walked.acquire(block=False):
            pass
        for _ in range(2):
            assert self.walked.acquire(timeout=300)

    def end(self) -> dict[str, int]:
        self.stop.set()
        counts: dict[str, int] = self.said.get()
        self.process.join()
        return counts

    def kill(self) -> None:
        self.process.kill()
        self.process.join()


def evict(disk: Disk, walked: Semaphore, stop: Event, said: Said) -> None:
    root = open_root(str(disk.root), mounted=disk.kind != "folder")
    evictor = Evictor(root, Limits(CAPACITY, min_age_s=0))
    while not stop.is_set():
        evictor.pass_once()
        walked.release()
    evictor.pass_once()
    os.close(root)
    said.put({name: evictor.counts[name, ""] for name in ("evicted_files", "evicted_bytes")})


def write(disk: Disk, number: int, rounds: Barrier, said: Said) -> None:
    """Store new blocks, round by round; as in the engine, a store that fails is a block that is not cached."""
    tier, written, failed, full = Tier(disk.root), 0, 0, False
    for turn in range(ROUNDS):
        for key in keys(number, turn):
            full = disk.full(MIB) if key % 8 == 0 else full
            try:
                written += 0 if full else tier.store(key)
            except OSError:
                failed += 1
        rounds.wait()
    said.put({"written": written, "failed": failed})


def keys(writer: int, turn: int) -> range:
    first = (writer * ROUNDS + turn) * BLOCKS
    return range(first, first + BLOCKS)


def read(disk: Disk, number: int, rounds: Barrier, said: Said) -> None:
    """Read hot blocks and the round before, which must be there and whole, and old ones, which may be gone."""
    tier, chance = Tier(disk.root), random.Random(number)  # noqa: S311 - chance, no secret
    lost = torn = hits = gone = 0
    for turn in range(ROUNDS):
        known = [key for writer in (0, 1) for key in keys(writer, turn - 1) if turn and tier.there(key)]
        must = [*HOT, *chance.sample(known, min(len(known), 20))]
        for key in chance.sample(must, len(must)):
            try:
                lost += not tier.load(key)
            except TornError:
                torn += 1
        for key in (chance.randrange(max(turn, 1) * BLOCKS) + writer * ROUNDS * BLOCKS for writer in (0, 1) * 20):
            if tier.there(key):
                hits, gone = hits + 1, gone + (not tier.load(key))
        rounds.wait()
    said.put({"lost": lost, "torn": torn, "hits": hits, "gone": gone})


@contextmanager
def workload(disk: Disk) -> Iterator[tuple[Barrier, list[dict[str, int]]]]:
    """Writers and readers, who meet at the barrier after each round; what they said once they have ended."""
    rounds, said, results = CONTEXT.Barrier(5, timeout=300), CONTEXT.SimpleQueue(), list[dict[str, int]]()
    workers = [CONTEXT.Process(target=do, args=(disk, n, rounds, said)) for do in (write, read) for n in (0, 1)]
    for worker in workers:
        worker.start()
    try:
        yield rounds, results
    except BaseException:
        rounds.abort()
        raise
    finally:
        for worker in workers:
            worker.join()
    results += [said.get() for _ in workers]


@pytest.fixture(params=["ext4", "tmpfs"])
def full_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    with mounted(request.param, tmp_path, DISK) as disk:
        tier = Tier(disk.root)
        for key in HOT:
            tier.store(key)
        yield disk


def summed(results: list[dict[str, int]], name: str) -> int:
    return sum(result.get(name, 0) for result in results)


def blocks_bytes(disk: Disk) -> int:
    return sum(path.stat().st_blocks * 512 for path in disk.root.rglob("*.bin"))


def test_a_disk_that_fills_up_stays_below_capacity_and_no_reader_loses_what_it_uses(full_disk: Disk) -> None:
    with workload(full_disk) as (rounds, results):
        evictor = Evicting.start(full_disk)
        for _ in range(ROUNDS):
            evictor.walk()
            rounds.wait()
    counts = evictor.end()

    written = len(HOT) * BLOCK_BYTES + summed(results, "written")
    assert summed(results, "lost") == summed(results, "torn") == 0
    assert summed(results, "hits") > 0
    assert written > CAPACITY * 3 // 2
    assert written - counts["evicted_bytes"] == blocks_bytes(full_disk)
    assert allocated(full_disk.root) < CAPACITY * 95 // 100
    assert not list(full_disk.root.rglob("*.tmp"))


def test_an_evictor_that_is_killed_all_the_time_keeps_up_all_the_same(full_disk: Disk) -> None:
    chance = random.Random(6)  # noqa: S311 - chance, no secret
    with workload(full_disk) as (rounds, results):
        left = ROUNDS
        while left:
            evictor = Evicting.start(full_disk)
            for _ in range(min(left, chance.randint(2, 5))):
                evictor.walk()
                rounds.wait()
                left -= 1
            evictor.kill()
    evictor = Evicting.start(full_disk)
    evictor.end()

    assert summed(results, "lost") == summed(results, "torn") == 0
    assert summed(results, "written") > CAPACITY * 3 // 2
    assert allocated(full_disk.root) < CAPACITY * 95 // 100
