"""The walk over the tree, and what is removed from it."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from kv_evictor.files import FILE_FLAGS, FOLDER_FLAGS, RefusedError, allocated, idle, last_use_ns
from kv_evictor.limits import Limits, Oldest
from kv_evictor.log import Log
from kv_evictor.metrics import exposition

__all__ = ["Evictor"]

_NS = 1_000_000_000
_DEEPEST = 32
_REST = 20
"""Walks that are made to learn what is read take this share of the time at most: one in 20."""
_LEAST_REST = 3
"""And those that could not free enough: one in 3."""
_PACE_EVERY = 20
"""Deletions between two looks at the clock."""
_LEAF = re.compile(r"(?:^|/)([0-9a-f]{3})/([0-9a-f]{2})_g\d+$")
_BLOCK = re.compile(r"([0-9a-f]{5})[0-9a-f]*\.bin(_\d+\.tmp)?")
_PROBE = re.compile(r"\.o_direct_probe_\d+\.tmp")


@dataclass
class Scan:
    """What one walk over the tree found."""

    oldest: Oldest
    used: int = 0
    other_bytes: int = 0
    files: int = 0
    first_use_ns: int | None = None


class Evictor:
    """Walks the tree below an open root and removes what has to go. It keeps nothing that a restart could lose."""

    def __init__(
        self,
        root: int,
        limits: Limits,
        *,
        reads: str = "relatime",
        log: Log | None = None,
        now: Callable[[], float] = time.time,
        wait: Callable[[float], object] = time.sleep,
    ) -> None:
        self._root, self._limits, self._reads = root, limits, reads
        self._log, self._now, self._wait = log or Log(), now, wait
        self._device = os.fstat(root).st_dev
        self._user = os.geteuid()
        self.counts: Counter[tuple[str, str]] = Counter()
        self.gauges: dict[str, float] = {}
        self.heartbeat = time.monotonic()
        self._scanned_used = self._disk_used_then = 0
        self._scanned_at = -float("inf")
        self._scan_s = 0.0
        self._freed_enough = True
        self._left = 0  # bytes of what had to go that a pass did not keep in mind

    # What there is

    def pass_once(self) -> bool:
        """Walk the tree once and remove what is too much; whether another pass would remove more."""
        self._scanned_at = time.monotonic()
        self._disk_used_then = self._disk()[0]
        scan = Scan(Oldest(self._limits.candidates))
        self._visit(self._root, "", 0, scan)
        self._scanned_used = scan.used
        self._scan_s = time.monotonic() - self._scanned_at
        freed, removed = self._free(scan)
        age_s = 0.0 if scan.first_use_ns is None else max(self._now() - scan.first_use_ns / _NS, 0.0)
        self.gauges = {
            "used_bytes": scan.used - freed,
            "files": scan.files - removed,
            "other_bytes": scan.other_bytes,
            "disk_free_bytes": self._disk()[1],
            "oldest_use_age_seconds": age_s,
            "scan_seconds": self._scan_s,
        }
        self.counts["scans", ""] += 1
        return self._left > 0

    def due(self, scan_every_s: float) -> bool:
        """Whether it is time for a pass: the disk says that there may be too much, or the last one was long ago."""
        since_s = time.monotonic() - self._scanned_at
        if not self._freed_enough and since_s < _LEAST_REST * self._scan_s:
            return False
        return since_s >= max(scan_every_s, _REST * self._scan_s) or self._limits.excess(*self._by_disk()) > 0

    def _by_disk(self) -> tuple[int, int]:
        """Bytes below the root if nobody else's changed since the last walk began, and free bytes of the disk."""
        used, free = self._disk()
        return self._scanned_used + used - self._disk_used_then, free

    def _disk(self) -> tuple[int, int]:
        found = os.fstatvfs(self._root)
        return (found.f_blocks - found.f_bfree) * found.f_frsize, found.f_bavail * found.f_frsize

    def _visit(self, folder: int, path: str, depth: int, scan: Scan) -> bool:
        """Account for all that is in a folder; whether that is nothing."""
        self.heartbeat = time.monotonic()
        leaf, below, empty = _LEAF.search(path), [], True
        with os.scandir(folder) as entries:
            for entry in entries:
                empty = False
                try:
                    found = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(found.st_mode):
                        below.append(entry.name)
                    else:
                        self._account(folder, path, entry.name, found, leaf, scan)
                except OSError as error:
                    self._failed("stat", error)
        for name in below if depth < _DEEPEST else []:
            try:
                self._enter(folder, f"{path}/{name}" if path else name, name, depth + 1, scan)
            except OSError as error:
                self._failed("walk", error)
        return empty

    def _enter(self, parent: int, path: str, name: str, depth: int, scan: Scan) -> None:
        folder = os.open(name, FOLDER_FLAGS, dir_fd=parent)
        try:
            found = os.fstat(folder)
            if found.st_dev != self._device:
                return
            scan.used += allocated(found)
            if not self._visit(folder, path, depth, scan) or not _LEAF.search(path):
                return
        finally:
            os.close(folder)
        if self._now() - found.st_mtime >= self._limits.empty_folder_age_s:
            with contextlib.suppress(FileNotFoundError, OSError):
                os.rmdir(name, dir_fd=parent)  # the kernel refuses unless it is empty
                scan.used -= allocated(found)
                self.counts["folders_removed", ""] += 1

    def _account(
        self,
        folder: int,
        path: str,
        name: str,
        found: os.stat_result,
        leaf: re.Match[str] | None,
        scan: Scan,
    ) -> None:
        size, used_ns = allocated(found), last_use_ns(found)
        scan.used += size
        named = _BLOCK.fullmatch(name) if leaf else None
        block = named if named and leaf and named[1] == leaf[1] + leaf[2] else None
        ours = stat.S_ISREG(found.st_mode) and found.st_uid == self._user and found.st_nlink == 1
        if ours and block and not block[2]:
            scan.files += 1
            scan.first_use_ns = used_ns if scan.first_use_ns is None else min(scan.first_use_ns, used_ns)
            scan.oldest.offer(used_ns, f"{path}/{name}")
            if self._reads == "relatime" and found.st_atime_ns > max(found.st_mtime_ns, found.st_ctime_ns):
                os.utime(name, ns=(found.st_atime_ns, found.st_mtime_ns), dir_fd=folder, follow_symlinks=False)
        elif ours and (block or _PROBE.fullmatch(name)):
            if self._now() - found.st_mtime < self._limits.temp_age_s:
                return
            if self._unlink(folder, name, used_ns) is not None:
                scan.used -= size
                self.counts["temporary_files_removed", ""] += 1
        else:
            scan.other_bytes += size

    # What goes

    def _free(self, scan: Scan) -> tuple[int, int]:
        """Remove what is too much, oldest first; bytes and files."""
        limits, freed, removed, began = self._limits, 0, 0, time.monotonic()
        free_then = self._disk()[1]
        wanted = max(limits.excess(scan.used, free_then), self._left)
        for used_ns, path in scan.oldest.in_order() if wanted else []:
            if freed >= wanted:
                break
            urgent = limits.urgent(scan.used - freed, free_then + freed)
            if not urgent and self._now() - used_ns / _NS < limits.min_age_s:
                self.counts["skipped", "young"] += 1
                break
            size = self._evict(path, used_ns)
            if size is None:
                continue
            freed, removed = freed + size, removed + 1
            if removed % _PACE_EVERY == 0 and not limits.urgent(*self._by_disk()):
                self._wait(max(removed / limits.deletions_per_s - (time.monotonic() - began), 0.0))
            self.heartbeat = time.monotonic()
        self._freed_enough = freed >= wanted
        self._left = wanted - freed if removed and scan.oldest.dropped and wanted > freed else 0
        return freed, removed

    def _evict(self, path: str, used_ns: int) -> int | None:
        """Remove one block by its path, never through a link; allocated bytes, None where it stays."""
        *folders, name = path.split("/")
        with contextlib.ExitStack() as opened:
            folder = self._root
            try:
                for part in folders:
                    folder = os.open(part, FOLDER_FLAGS, dir_fd=folder)
                    opened.callback(os.close, folder)
                size = self._unlink(folder, name, used_ns)
            except OSError as error:
                self._failed("evict", error)
                return None
        if size is not None:
            self.counts["evicted_files", ""] += 1
            self.counts["evicted_bytes", ""] += size
        return size

    def _unlink(self, folder: int, name: str, used_ns: int) -> int | None:
        """Remove a file that nobody has open or used since ``used_ns``; allocated bytes, None where it stays."""
        fd = os.open(name, FILE_FLAGS, dir_fd=folder)
        try:
            if not idle(fd):
                self.counts["skipped", "in_use"] += 1
                return None
            found = os.fstat(fd)
            if last_use_ns(found) > used_ns:
                self.counts["skipped", "used_since"] += 1
                return None
            os.unlink(name, dir_fd=folder)
            return allocated(found)
        finally:
            os.close(fd)

    def _failed(self, doing: str, error: OSError) -> None:
        if error.errno == errno.ENOENT:  # the engine removes files, too
            return
        kind = errno.errorcode.get(error.errno or 0, "unknown")
        self.counts["errors", kind] += 1
        self._log.say(f"could not {doing}: {kind}", why=str(error))

    def status(self) -> str:
        """Return the metrics, in Prometheus' text format."""
        limits = self._limits
        bounds = {
            "capacity_bytes": limits.capacity_bytes,
            "high_water_bytes": limits.high_bytes,
            "low_water_bytes": limits.low_bytes,
            "reads_recorded": self._reads != "noatime",
            "heartbeat_age_seconds": self.stalled_s(),
        }
        return exposition({**self.gauges, **bounds}, dict(self.counts))

    def stalled_s(self) -> float:
        """Seconds since the loop last made progress."""
        return time.monotonic() - self.heartbeat

    # Its loop

    def run(self, tick_s: float, scan_every_s: float) -> NoReturn:
        """Look every ``tick_s`` whether a pass is due. Ends by a signal only; a failing disk stops the heartbeat."""
        while True:
            before = Counter(self.counts)
            try:
                if os.fstat(self._root).st_nlink == 0:
                    raise RefusedError("the root was removed")
                while self.due(scan_every_s) and self.pass_once():
                    pass
                self.heartbeat = time.monotonic()
            except OSError as error:
                self._failed("scan", error)
            if self.counts["evicted_files", ""] > before["evicted_files", ""]:
                gone = self.counts - before
                blocks, size = gone["evicted_files", ""], gone["evicted_bytes", ""]
                self._log.say("evicted", blocks=blocks, evicted_bytes=size, **self.gauges)
            self._wait(tick_s)
