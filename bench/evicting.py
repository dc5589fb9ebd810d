"""What the evictor of vLLM's ``fs`` tier costs, against the plainest way to do the same: ``python -m bench.evicting``.

It asks nothing of a stack, so it runs by itself, in a minute or two; its files are in a temporary folder.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from beamline.cli.output import show, table
from bench.page import COLUMNS, RIGHT, cells
from bench.pairs import alternate, compare
from bench.rows import Goal, Question, Row, any_broken
from kv_evictor.evictor import Evictor
from kv_evictor.limits import Limits
from stacks.problems import EnvironmentProblem

__all__ = ["EVICTING", "evicting", "tier"]

WALKED, EVICTED = 200_000, 10_000
WALK = Question(
    name="evictor's walk / os.scandir",
    first=f"A pass of the evictor over {WALKED:,} blocks below high water, in folders as vLLM's fs tier makes them.",
    second="os.scandir over the same tree, with a stat of each file.",
    goal=Goal(2.5),
    notes="Nearly each block has a folder of its own, as in the tier: 4,096 x 256 of them. Both sides find names and "
    "inodes in memory. What is above 1: folders are opened one from the other, the oldest blocks kept in order.",
)
EVICT = Question(
    name="evictor's pass / unlink",
    first=f"A pass over {EVICTED:,} blocks that removes half of them.",
    second="The same by os.scandir, sorting by time, and os.unlink.",
    goal=Goal(3),
    notes="Another tree for each run, made before the clock starts. What is above 1: each block is opened, leased and "
    "looked at again before it goes. Without the evictor's pace, which would be most of the time.",
)
_NO_BOUND = Limits(1 << 60)
EVICTING = (WALK, EVICT)
"""The questions answered here, in the order of the table."""


def tier(root: Path, blocks: int) -> int:
    """Make small blocks in folders as vLLM's fs tier makes them, each a second older than the next; allocated bytes."""
    now = time.time()
    for number in range(blocks):
        name = hashlib.sha256(str(number).encode()).hexdigest()
        folder = root / "model_0123456789ab_r0" / name[:3] / f"{name[3:5]}_g0"
        folder.mkdir(parents=True, exist_ok=True)
        block = folder / f"{name}.bin"
        block.write_bytes(b"block")
        os.utime(block, (now - blocks + number,) * 2)
    return blocks * block.stat().st_blocks * 512


def evicting(pairs: int) -> Iterator[Row]:
    """Answer ``EVICTING``, one row at a time."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        tier(root, WALKED)
        pass_s, scandir_s = (lambda: _passing(root)), (lambda: _timed(lambda: _found(root)))
        yield Row(WALK, compare(alternate(pass_s, scandir_s, pairs, warm_up=True)))
    yield Row(EVICT, compare(alternate(_evicting_half, _unlinking_half, pairs, warm_up=False)))


def _timed(do: Callable[[], object]) -> float:
    began = time.perf_counter()
    do()
    return time.perf_counter() - began


def _evictor(root: int, limits: Limits) -> Evictor:
    return Evictor(root, limits, wait=lambda _: None)


def _passing(root: Path) -> float:
    fd = os.open(root, os.O_RDONLY)
    try:
        return _timed(_evictor(fd, _NO_BOUND).pass_once)
    finally:
        os.close(fd)


def _evicting_half() -> float:
    with tempfile.TemporaryDirectory() as folder:
        blocks = tier(Path(folder), EVICTED)
        fd = os.open(folder, os.O_RDONLY)
        try:
            counting = _evictor(fd, _NO_BOUND)
            counting.pass_once()
            used = int(counting.gauges["used_bytes"])
            removing = _evictor(fd, Limits(used, low_percent=(used - blocks // 2) * 100 // used, min_age_s=0))
            took = _timed(removing.pass_once)
        finally:
            os.close(fd)
        if not EVICTED // 2 <= removing.counts["evicted_files", ""] < EVICTED:
            raise EnvironmentProblem(
                f"the pass removed {removing.counts['evicted_files', '']} blocks, not half of them"
            )
        return took


def _unlinking_half() -> float:
    with tempfile.TemporaryDirectory() as folder:
        tier(Path(folder), EVICTED)
        return _timed(lambda: _unlink_half(Path(folder)))


def _unlink_half(folder: Path) -> None:
    for _, path in sorted(_found(folder))[: EVICTED // 2]:
        Path(path).unlink()


def _found(folder: Path) -> list[tuple[int, str]]:
    """When each file below a folder was written, and its path."""
    found: list[tuple[int, str]] = []
    folders = [str(folder)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    found.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.path))
    return found


if __name__ == "__main__":
    rows = list(evicting(int(sys.argv[1]) if sys.argv[1:] else 5))
    show(table(COLUMNS, [cells(row) for row in rows], right=RIGHT, long=("what",)))
    sys.exit(any_broken(rows))
