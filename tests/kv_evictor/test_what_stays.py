"""One pass over a real file system: what must not go, and what is left alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .conftest import CAPACITY, DISK, Making
from .disks import Disk, allocated, mounted
from .filling import MANY, count_of, dated, filled, present, stored
from .tier import BLOCK_BYTES, Tier


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
    foreign = [tier.path(3)] if os.geteuid() == 0 else []
    for path in foreign:
        os.chown(path, 65534, 65534)
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
    assert all(path.exists() for path in (linked, *foreign))
    assert tier.path(5).is_symlink()
    assert sorted(path for path in (tmp_path / "outside").rglob("*")) == kept
    assert not tier.there(2)
    assert evictor.gauges["other_bytes"] == pytest.approx(
        len(others) * 8192 + (2 + len(foreign)) * BLOCK_BYTES, abs=8192
    )
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
