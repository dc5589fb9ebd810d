"""What the kernel tells about one file, folder or mount."""

from __future__ import annotations

import fcntl
import os
import signal
from pathlib import Path

__all__ = [
    "FILE_FLAGS",
    "FOLDER_FLAGS",
    "RefusedError",
    "allocated",
    "check_leases",
    "idle",
    "last_use_ns",
    "open_root",
    "reads_recorded",
]

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_BLOCK_UNIT = 512
"""Of st_blocks, on every file system."""


class RefusedError(Exception):
    """The root is not what it has to be; nothing was touched."""


def allocated(found: os.stat_result) -> int:
    """Bytes a file or folder takes on the disk, which is not its length."""
    return found.st_blocks * _BLOCK_UNIT


def last_use_ns(found: os.stat_result) -> int:
    """When a file was last written or, where the file system tells, read."""
    return max(found.st_atime_ns, found.st_mtime_ns)


def idle(fd: int) -> bool:
    """Whether nobody else has the file open: if so it is leased until ``fd`` is closed, and who opens it waits.

    Raises OSError where the file is not this user's or the file system has no leases. Whoever waits has found the file
    already, so it reads it whole even when it is unlinked meanwhile. SIGURG, which is ignored, tells of them.
    """
    fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except BlockingIOError:
        return False
    return True


def check_leases(folder: str) -> None:
    """Raise RefusedError where the file system has no leases: there is no telling which files are open."""
    fd = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)  # it never has a name, so nothing stays
    try:
        idle(fd)
    except OSError as error:
        raise RefusedError(f"{folder}: its file system has no leases ({error})") from error
    finally:
        os.close(fd)


def reads_recorded(folder: str) -> str:
    """How the mount records reads: ``strictatime``, ``relatime`` or ``noatime``."""
    flags = os.statvfs(folder).f_flag
    return "noatime" if flags & os.ST_NOATIME else "relatime" if flags & os.ST_RELATIME else "strictatime"


def open_root(path: str, *, mounted: bool) -> int:
    """Open the folder that is to be kept; raises RefusedError where it is not what it has to be."""
    if path == "/" or os.path.realpath(path) != path:
        raise RefusedError(f"{path}: wanted is an absolute path without symbolic links, and not /")
    if mounted and not any(line.split(" ")[4] == path for line in _mounts()):
        raise RefusedError(f"{path}: nothing is mounted there; refusing to delete files of somebody else")
    try:
        return os.open(path, FOLDER_FLAGS)
    except OSError as error:
        raise RefusedError(f"{path}: {error}") from error


def _mounts() -> list[str]:
    return Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
