"""A real, small file system to fill: ext4 on a loop device, tmpfs, or a folder where nothing can be mounted."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["KINDS", "MIB", "Disk", "allocated", "mounted"]

MIB = 1 << 20
KINDS = ("ext4", "tmpfs", "folder")


@dataclass(frozen=True)
class Disk:
    """Where it is, what it is, and how much it holds. A folder has no size of its own: who writes asks ``full``."""

    root: Path
    kind: str
    size_bytes: int

    def full(self, more: int) -> bool:
        """Whether a folder is as full as a disk of its size; a mount says so itself."""
        return self.kind == "folder" and allocated(self.root) + more > self.size_bytes

    def filled(self) -> tuple[int, int]:
        """Used and free bytes of a folder as if it were a disk of its size."""
        used = allocated(self.root)
        return used, self.size_bytes - used


def allocated(root: Path) -> int:
    """Allocated bytes below ``root``, as ``du`` counts them; files may come and go meanwhile."""
    total = 0
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            try:
                total += os.lstat(f"{folder}/{name}").st_blocks * 512
            except FileNotFoundError:
                continue
    return total


@contextmanager
def mounted(kind: str, folder: Path, size_bytes: int, options: str = "relatime") -> Iterator[Disk]:
    """Yield a disk of a kind; a plain folder where this machine or container mounts nothing."""
    root = folder / "tier"
    root.mkdir()
    if not _mount(kind, folder, root, size_bytes, options):
        yield Disk(root, "folder", size_bytes)
        return
    try:
        yield Disk(root, kind, size_bytes)
    finally:
        subprocess.run(["umount", "--lazy", str(root)], check=True)


def _mount(kind: str, folder: Path, root: Path, size_bytes: int, options: str) -> bool:
    if kind == "tmpfs":
        return _runs("mount", "-t", "tmpfs", "-o", f"size={size_bytes},{options}", "none", str(root))
    if kind == "ext4":
        image = folder / "disk"
        with image.open("wb") as file:
            file.truncate(size_bytes)
        made = _runs("mkfs.ext4", "-q", "-F", "-m", "0", str(image))
        return made and _runs("mount", "-o", f"loop,{options}", str(image), str(root))
    return False


def _runs(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False
