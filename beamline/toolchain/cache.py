"""Folders that appear whole or not at all, whoever else is making the same one.

A tool build takes minutes: it gets interrupted, and two commands start it at once. So each folder is made under another
name while a lock is held, written through to the disk, and renamed into place.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["making"]

_SYNC_ONE_BY_ONE = 100
"""Above this many files (Go has twelve thousand) one flush of everything is quicker than one a file."""


@contextmanager
def making(folder: Path) -> Iterator[Path | None]:
    """Yield an empty working folder to fill, renamed to ``folder`` on success; None if ``folder`` exists meanwhile.

    Waits for another process that makes the same folder. An error or a kill inside leaves ``folder`` absent; what it
    left behind under the working name is removed by the next one to try.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f".{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.is_dir():
            yield None
            return
        work = folder.with_name(f".{folder.name}.unfinished")
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        try:
            yield work
            _write_through(work)
            work.rename(folder)
            _sync(folder.parent)
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _write_through(folder: Path) -> None:
    """Flush the files to the disk, so that a power cut after the rename cannot leave empty ones."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    if len(files) > _SYNC_ONE_BY_ONE:
        os.sync()
        return
    for path in files:
        _sync(path)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
