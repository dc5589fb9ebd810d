"""One pass at a time over a real file system: what goes, what stays, and what is said about it."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

from kv_evictor.evictor import Evictor
from kv_evictor.files import reads_recorded

from .conftest import CAPACITY, DISK, Making
from .disks import MIB, Disk, allocated, mounted
from .tier import BLOCK_BYTES, Tier

HOUR = 3600 * 1_000_000_000
FEW = CAPACITY // BLOCK_BYTES // 2
MANY = CAPACITY // BLOCK_BYTES + 100


def stored(disk: Disk, count: int, *, first: int = 0) -> Tier:
    """A tier with blocks whose last use is their number, in minutes, some hours ago."""
    tier = Tier(disk.root)
    for key in range(first, first + count):
        tier.store(key)
        dated(tier.path(key), key)
    return tier


def dated(path: Path, minute: int) -> None:
    moment = time.time_ns() - 100 * HOUR + minute * HOUR // 60
    os.utime(path, ns=(moment, moment))


def present(tier: Tier, count: int) -> list[int]:
    return [key for key in range(count) if tier.there(key)]


def count_of(evictor: Evictor, name: str, label: str = "") -> int:
    return evictor.counts[name, label]


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


def test_a_block_that_is_open_stays_and_goes_once_it_is_closed(disk: Disk, evictor_of: Making) -> None:
    tier = stored(disk, MANY)
    evictor = evictor_of(disk)
    opened = [os.open(tier.path(key), flags) for key, flags in ((0, os.O_RDONLY), (1, os.O_WRONLY))]

    evictor.pass_once()
    assert present(tier, 10) == [0, 1]
    assert count_of(evictor, "skipped", "in_use") == 2

    for fd in opened:
        os.close(fd)
    stored(disk, 100, first=MANY)
    evictor.pass_once()
    assert present(tier, 10) == []


def test_a_block_that_is_read_after_the_walk_stays(
    disk: Disk, evictor_of: Making, monkeypatch: pytest.MonkeyPatch
) -> None:
    tier = stored(disk, MANY)
    evictor = evictor_of(disk)
    freeing = evictor._free

    def read_before(scan: object) -> tuple[int, int]:
        tier.load(3)
        return freeing(scan)

    monkeypatch.setattr(evictor, "_free", read_before)
    evictor.pass_once()

    assert present(tier, 10) == [3]
    assert count_of(evictor, "skipped", "used_since") == 1


def test_a_young_block_stays_until_the_capacity_itself_is_passed(disk: Disk, evictor_of: Making) -> None:
    tier = Tier(disk.root)
    count = filled(tier, 0, CAPACITY * 96 // 100)
    evictor = evictor_of(disk, min_age_s=30)
    evictor.pass_once()
    assert len(present(tier, count)) == count
    assert count_of(evictor, "skipped", "young") == 1

    filled(tier, count, CAPACITY)
    evictor.pass_once()

    assert CAPACITY - BLOCK_BYTES <= allocated(disk.root) <= CAPACITY


def filled(tier: Tier, key: int, size_bytes: int) -> int:
    """Store blocks from ``key`` on until more than ``size_bytes`` are allocated; the next key."""
    used = allocated(tier.base.parent)
    while used <= size_bytes:
        used += tier.store(key)
        used = used if key % 10 else allocated(tier.base.parent)
        key += 1
    return key


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

    if tmpfs.kind == "folder":
        evictor = evictor_of(tmpfs, free_floor_bytes=free + 2 * MIB)
    else:
        (tmpfs.root / "weights.safetensors").write_bytes(b"w" * 6 * MIB)
    evictor.pass_once()

    gone = FEW - len(present(tier, FEW))
    assert gone * BLOCK_BYTES == pytest.approx(2 * MIB + CAPACITY * 10 // 100, abs=2 * BLOCK_BYTES)


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


def test_files_of_dead_writers_go_and_those_of_living_ones_stay(disk: Disk, evictor_of: Making) -> None:
    tier = stored(disk, 3)
    leaf = tier.path(0).parent
    stale, held, young = (leaf / f"{tier.path(0).name}_{number}.tmp" for number in (1, 2, 3))
    probe = tier.base / ".o_direct_probe_17.tmp"
    for path in (stale, held, young, probe):
        path.write_bytes(b"t" * 4096)
    for path in (stale, held, probe):
        dated(path, 0)
    evictor = evictor_of(disk)

    with held.open("ab"):
        evictor.pass_once()

    assert [path.exists() for path in (stale, held, young, probe)] == [False, True, True, False]
    assert count_of(evictor, "temporary_files_removed") == 2
    assert count_of(evictor, "skipped", "in_use") == 1
    assert evictor.gauges["used_bytes"] == allocated(disk.root)


def test_what_is_not_the_tiers_is_counted_and_never_removed(disk: Disk, tmp_path: Path, evictor_of: Making) -> None:
    tier = stored(disk, MANY)
    outside = Tier(tmp_path / "outside")
    outside.store(0)
    leaf, name = tier.path(0).parent, tier.path(0).name
    linked = tier.path(1)
    os.link(linked, disk.root / "second name")
    others = [
        tier.base / "config.json",
        leaf / "notes.txt",
        leaf / f"{name}.tmp",
        leaf / ("ffff0" + name[5:]),
        leaf / f"{'f' * 5}_1.tmp",
        disk.root / name,
    ]
    for path in others:
        path.write_bytes(b"o" * 8192)
        dated(path, 0)
    (tier.base / name[:3] / "zz").symlink_to(outside.path(0).parent, target_is_directory=True)
    tier.path(5).unlink()
    tier.path(5).symlink_to(outside.path(0))
    os.mkfifo(leaf / f"{name[:5]}aa.bin")
    tmp_path.joinpath("outside", "empty").mkdir()
    kept = sorted(path for path in (tmp_path / "outside").rglob("*"))
    evictor = evictor_of(disk, empty_folder_age_s=0)

    evictor.pass_once()

    assert all(path.exists() for path in others)
    assert linked.exists()
    assert tier.path(5).is_symlink()
    assert sorted(path for path in (tmp_path / "outside").rglob("*")) == kept
    assert not tier.there(2)
    assert evictor.gauges["other_bytes"] == pytest.approx(len(others) * 8192 + 2 * BLOCK_BYTES, abs=8192)
    assert evictor.gauges["used_bytes"] == allocated(disk.root)


def test_a_folder_swapped_for_a_link_after_the_walk_is_not_followed(
    disk: Disk, tmp_path: Path, evictor_of: Making, monkeypatch: pytest.MonkeyPatch
) -> None:
    tier, outside = stored(disk, MANY), Tier(tmp_path / "outside")
    outside.store(0)
    dated(outside.path(0), 0)
    evictor = evictor_of(disk)
    freeing = evictor._free

    def swap_before(scan: object) -> tuple[int, int]:
        leaf = tier.path(0).parent
        leaf.rename(disk.root / "aside")
        leaf.symlink_to(outside.path(0).parent, target_is_directory=True)
        return freeing(scan)

    monkeypatch.setattr(evictor, "_free", swap_before)
    evictor.pass_once()

    assert outside.there(0)
    assert sum(number for (name, _), number in evictor.counts.items() if name == "errors") == 1


def test_another_file_system_below_the_root_is_not_entered(disk: Disk, evictor_of: Making) -> None:
    stored(disk, MANY)
    below = disk.root / "below"
    below.mkdir()
    with mounted("tmpfs", below, DISK) as other:
        inner = stored(other, 10)
        evictor_of(disk).pass_once()
        assert other.kind == "folder" or present(inner, 10) == list(range(10))


def test_folders_that_were_empty_for_long_go_and_no_others(disk: Disk, evictor_of: Making) -> None:
    tier = stored(disk, 3)
    for key in (0, 1):
        tier.path(key).unlink()
    dated(tier.path(0).parent, 0)
    plain = disk.root / "plain"
    plain.mkdir()
    dated(plain, 0)
    evictor = evictor_of(disk)

    evictor.pass_once()

    assert [tier.path(key).parent.exists() for key in (0, 1, 2)] == [False, True, True]
    assert tier.path(0).parent.parent.exists()
    assert plain.exists()
    assert count_of(evictor, "folders_removed") == 1
    assert evictor.gauges["used_bytes"] == allocated(disk.root)


def test_files_that_vanish_during_a_pass_are_no_error(
    disk: Disk, evictor_of: Making, monkeypatch: pytest.MonkeyPatch
) -> None:
    tier = stored(disk, MANY)
    evictor = evictor_of(disk)
    freeing = evictor._free

    def remove_before(scan: object) -> tuple[int, int]:
        for key in range(10):
            tier.path(key).unlink()
        return freeing(scan)

    monkeypatch.setattr(evictor, "_free", remove_before)
    evictor.pass_once()

    assert not [name for name, _ in evictor.counts if name == "errors"]


def test_a_failing_disk_is_counted_and_the_rest_goes_on(
    disk: Disk, evictor_of: Making, monkeypatch: pytest.MonkeyPatch
) -> None:
    tier = stored(disk, MANY)
    evictor = evictor_of(disk)
    unlinking, bad = os.unlink, tier.path(1).name

    def unlink(name: str, *, dir_fd: int) -> None:
        if name == bad:
            raise OSError(5, "Input/output error")
        unlinking(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", unlink)
    evictor.pass_once()

    assert present(tier, 10) == [1]
    assert count_of(evictor, "errors", "EIO") == 1


@pytest.mark.parametrize("hours", [-1000, 1000])
def test_a_clock_that_jumps_changes_no_order(disk: Disk, evictor_of: Making, hours: int) -> None:
    tier = stored(disk, MANY)
    evictor = evictor_of(disk, now=lambda: time.time() + hours * 3600, min_age_s=30)

    evictor.pass_once()

    left = present(tier, MANY)
    assert left == list(range(MANY - len(left), MANY))
    assert allocated(disk.root) <= CAPACITY


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


@pytest.mark.parametrize(("full", "rest_s"), [(False, 200), (True, 30)])
def test_a_walk_that_takes_long_is_made_less_often(
    tmpfs: Disk, evictor_of: Making, monkeypatch: pytest.MonkeyPatch, full: bool, rest_s: int
) -> None:
    seconds = [1000.0]
    monkeypatch.setattr("kv_evictor.evictor.time.monotonic", lambda: seconds[0])
    stored(tmpfs, MANY if full else FEW)
    evictor = evictor_of(tmpfs)
    visiting = evictor._visit

    def visit_slowly(*arguments: Any) -> bool:
        seconds[0] += 0 if arguments[1] else 10
        return visiting(*arguments)

    monkeypatch.setattr(evictor, "_visit", visit_slowly)
    monkeypatch.setattr(evictor, "_free", lambda _: (0, 0))
    evictor.pass_once()

    seconds[0] = 1000 + rest_s - 1
    assert not evictor.due(60)
    seconds[0] = 1000 + rest_s
    assert evictor.due(60)
