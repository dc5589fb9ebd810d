"""One pass over a real file system: how much goes, and in which order."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from kv_evictor.files import reads_recorded

from .conftest import CAPACITY, DISK, Making
from .disks import MIB, Disk, allocated, mounted
from .filling import FEW, MANY, count_of, present, stored
from .tier import BLOCK_BYTES, Tier


def test_a_tier_below_high_water_is_left_alone(disk: Disk, evictor_of: Making) -> None:
    tier = stored(disk, FEW)
    evictor = evictor_of(disk)

    evictor.pass_once()

    assert present(tier, FEW) == list(range(FEW))
    assert evictor.gauges["used_bytes"] == allocated(disk.root)
    assert count_of(evictor, "evicted_files") == 0


def test_the_oldest_go_until_low_water_and_the_figures_add_up(disk: Disk, evictor_of: Making) -> None:
    tier = stored(disk, MANY)
    before = allocated(disk.root)
    evictor = evictor_of(disk)

    evictor.pass_once()

    left = present(tier, MANY)
    assert left == list(range(MANY - len(left), MANY))
    assert 0 <= CAPACITY * 85 // 100 - allocated(disk.root) < BLOCK_BYTES
    assert allocated(disk.root) == before - count_of(evictor, "evicted_bytes") == evictor.gauges["used_bytes"]
    assert count_of(evictor, "evicted_files") == MANY - len(left)
    assert evictor.gauges["files"] == len(left)


def test_what_was_read_stays_and_what_was_not_goes(disk: Disk, evictor_of: Making) -> None:
    tier = stored(disk, MANY)
    for key in range(0, 50, 2):
        tier.load(key)

    evictor_of(disk).pass_once()

    assert present(tier, 50) == list(range(0, 50, 2))


def test_every_read_counts_although_the_mount_records_the_first_only(disk: Disk, evictor_of: Making) -> None:
    """``relatime``: a second read within a day moves nothing, unless a pass has come between."""
    tier = stored(disk, FEW)
    evictor = evictor_of(disk)
    path = tier.path(0)
    uses = []
    for _ in range(3):
        tier.load(0)
        uses.append(path.stat().st_atime_ns)
        tier.load(0)
        assert path.stat().st_atime_ns == uses[-1]
        evictor.pass_once()
        assert path.stat().st_atime_ns == uses[-1]
        wait_for_the_clock_of(path)

    assert uses == sorted(set(uses))


def wait_for_the_clock_of(path: Path) -> None:
    """File times move in steps of some milliseconds: write until one has passed."""
    other = path.with_name("clock")
    other.touch()
    began = other.stat().st_mtime_ns
    while other.stat().st_mtime_ns == began:
        other.write_bytes(b"")
        os.utime(other)
    other.unlink()


@pytest.mark.parametrize(("options", "told"), [("relatime", True), ("strictatime", True), ("noatime", False)])
def test_reads_count_where_the_mount_records_them(tmp_path: Path, evictor_of: Making, options: str, told: bool) -> None:
    with mounted("tmpfs", tmp_path, DISK, options) as disk:
        reads = reads_recorded(str(disk.root))
        tier = stored(disk, MANY)
        tier.load(0)
        evictor = evictor_of(disk, reads=reads)

        evictor.pass_once()

        told = told or disk.kind == "folder"
        assert tier.there(0) == told
        assert f"beamline_kv_evictor_reads_recorded {told:d}\n" in evictor.status()


def test_more_blocks_than_are_kept_in_mind_go_in_several_passes(disk: Disk, evictor_of: Making) -> None:
    tier = stored(disk, MANY)
    evictor = evictor_of(disk, candidates=25)
    passes = 1
    while evictor.pass_once():
        passes += 1

    left = present(tier, MANY)
    assert passes == -(-(MANY - len(left)) // 25) > 1
    assert left == list(range(MANY - len(left), MANY))
    assert 0 <= CAPACITY * 85 // 100 - allocated(disk.root) < BLOCK_BYTES


@pytest.mark.parametrize("hours", [-1000, 1000])
def test_a_clock_that_jumps_changes_no_order(disk: Disk, evictor_of: Making, hours: int) -> None:
    tier = stored(disk, MANY)
    evictor = evictor_of(disk, now=lambda: time.time() + hours * 3600, min_age_s=30)

    evictor.pass_once()

    left = present(tier, MANY)
    assert left == list(range(MANY - len(left), MANY))
    assert allocated(disk.root) <= CAPACITY


def test_use_is_above_high_water_by_what_comes_between_two_walks_and_no_more(
    disk: Disk, evictor_of: Making, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The margin above high water that a capacity has to have; blocks come before a walk and during it."""
    chance, tier, high = random.Random(1), Tier(disk.root), CAPACITY * 95 // 100  # noqa: S311 - chance, no secret
    evictor, keys, written = evictor_of(disk), iter(range(1 << 30)), list[int]()
    freeing = evictor._free

    def burst() -> None:
        written.append(sum(tier.store(next(keys)) for _ in range(chance.randrange(80))))

    def free_after_a_burst(scan: object) -> tuple[int, int]:
        burst()
        return freeing(scan)

    monkeypatch.setattr(evictor, "_free", free_after_a_burst)
    folders = 100 * 8192  # at most: two for each new block
    for _ in range(20):
        burst()
        assert allocated(disk.root) <= high + sum(written[-3:]) + folders
        evictor.pass_once()
        assert allocated(disk.root) <= high + written[-1] + folders

    assert sum(written) > CAPACITY * 2


def test_a_floor_of_free_space_counts_whoever_filled_the_disk(tmpfs: Disk, evictor_of: Making) -> None:
    tier = stored(tmpfs, FEW)
    evictor = evictor_of(tmpfs)
    free = evictor._disk()[1]
    evictor = evictor_of(tmpfs, free_floor_bytes=free - 4 * MIB)
    evictor.pass_once()
    assert len(present(tier, FEW)) == FEW

    (tmpfs.root / "weights.safetensors").write_bytes(b"w" * 6 * MIB)
    evictor.pass_once()

    gone = FEW - len(present(tier, FEW))
    assert gone * BLOCK_BYTES == pytest.approx(2 * MIB + CAPACITY * 10 // 100, abs=2 * BLOCK_BYTES)
