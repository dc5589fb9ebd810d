"""Tiers with blocks of known age, and what is left of them."""

from __future__ import annotations

import os
import time
from pathlib import Path

from kv_evictor.evictor import Evictor

from .conftest import CAPACITY
from .disks import Disk, allocated
from .tier import BLOCK_BYTES, Tier

__all__ = ["FEW", "MANY", "count_of", "dated", "filled", "present", "stored"]

HOUR = 3600 * 1_000_000_000
FEW = CAPACITY // BLOCK_BYTES // 2
MANY = CAPACITY // BLOCK_BYTES + 100
"""Blocks of half the capacity, and of some more than it."""


def stored(disk: Disk, count: int, *, first: int = 0) -> Tier:
    """A tier with blocks whose last use is their number, in minutes, some hours ago."""
    tier = Tier(disk.root)
    for key in range(first, first + count):
        tier.store(key)
        dated(tier.path(key), key)
    return tier


def filled(tier: Tier, key: int, size_bytes: int) -> int:
    """Store blocks from ``key`` on until more than ``size_bytes`` are allocated; the next key."""
    used = allocated(tier.base.parent)
    while used <= size_bytes:
        used += tier.store(key)
        used = used if key % 10 else allocated(tier.base.parent)
        key += 1
    return key


def dated(path: Path, minute: int) -> None:
    moment = time.time_ns() - 100 * HOUR + minute * HOUR // 60
    os.utime(path, ns=(moment, moment))


def present(tier: Tier, count: int) -> list[int]:
    return [key for key in range(count) if tier.there(key)]


def count_of(evictor: Evictor, name: str, label: str = "") -> int:
    return evictor.counts[name, label]
