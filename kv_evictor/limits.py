"""What has to go: pure arithmetic and order, no file is touched here."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

__all__ = ["Limits", "Oldest"]


@dataclass(frozen=True)
class Limits:
    """What the evictor keeps to; sizes are allocated bytes."""

    capacity_bytes: int
    high_percent: int = 95
    low_percent: int = 85
    free_floor_bytes: int = 0
    min_age_s: float = 30.0
    temp_age_s: float = 300.0
    empty_folder_age_s: float = 3600.0
    deletions_per_s: int = 500
    candidates: int = 250_000

    def __post_init__(self) -> None:
        if self.capacity_bytes <= 0 or not 0 < self.low_percent < self.high_percent <= 100:  # noqa: PLR2004 - per cent
            raise ValueError("wanted: capacity above 0 and 0 < low water < high water <= 100 per cent")
        if self.candidates <= 0 or self.deletions_per_s <= 0:
            raise ValueError("wanted: candidates and deletions a second above 0")

    @property
    def high_bytes(self) -> int:
        """Where eviction starts."""
        return self.capacity_bytes * self.high_percent // 100

    @property
    def low_bytes(self) -> int:
        """Where it stops."""
        return self.capacity_bytes * self.low_percent // 100

    def excess(self, used: int, free: int) -> int:
        """Bytes to remove now: down to low water from high water, or as much above the floor of free space."""
        above = used - self.low_bytes if used >= self.high_bytes else 0
        short = self.free_floor_bytes + self.high_bytes - self.low_bytes - free if free < self.free_floor_bytes else 0
        return max(above, short, 0)

    def urgent(self, used: int, free: int) -> bool:
        """Whether neither age nor pace counts any more: a full disk costs the pod."""
        return used > self.capacity_bytes or free < self.free_floor_bytes


class Oldest:
    """The least recently used files of a scan, ``bound`` at most: exact order in bounded memory."""

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._heap: list[tuple[int, str]] = []
        self.dropped = False

    def offer(self, used_ns: int, path: str) -> None:
        """Take a file unless ``bound`` older ones are known; the root of the heap is the newest of them."""
        if len(self._heap) < self._bound:
            heapq.heappush(self._heap, (-used_ns, path))
        else:
            self.dropped = True
            if -used_ns > self._heap[0][0]:
                heapq.heapreplace(self._heap, (-used_ns, path))

    def in_order(self) -> list[tuple[int, str]]:
        """When each was last used, in ns since 1970, and its path; oldest first."""
        return sorted((-negative, path) for negative, path in self._heap)
