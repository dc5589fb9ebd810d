"""The system calls of vLLM 0.33.0's fs tier on one block file: look up, store, load.

Contents follow from the key, so that a torn block is seen.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import secrets
from pathlib import Path

__all__ = ["BLOCK_BYTES", "Tier", "TornError"]

BLOCK_BYTES = 64 << 10


class TornError(Exception):
    """A block that is shorter than one or holds something else."""


class Tier:
    """One engine's folder below ``root``."""

    def __init__(self, root: Path, *, direct: bool = True, block_bytes: int = BLOCK_BYTES) -> None:
        self.base = root / "model_0123456789ab_r0"
        self._flags = os.O_DIRECT if direct else 0
        self._buffer = mmap.mmap(-1, block_bytes)  # of whole pages, as O_DIRECT wants it
        self._block_bytes = block_bytes
        self._suffix = f"_{secrets.randbits(63)}.tmp"

    def path(self, key: int, group: int = 0) -> Path:
        name = hashlib.sha256(str(key).encode()).hexdigest()
        return self.base / name[:3] / f"{name[3:5]}_g{group}" / f"{name}.bin"

    def content(self, key: int) -> bytes:
        return hashlib.sha256(f"block {key}".encode()).digest() * (self._block_bytes // 32)

    def there(self, key: int) -> bool:
        """What a look-up asks."""
        return os.access(self.path(key), os.F_OK)

    def store(self, key: int) -> int:
        """Write a block unless it is there; allocated bytes written. Raises OSError as the engine's thread does."""
        path = self.path(key)
        if path.exists():
            return 0
        temporary = path.with_name(path.name + self._suffix)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._buffer[:] = self.content(key)
        try:
            fd = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_TRUNC | self._flags, 0o644)
            try:
                if os.write(fd, self._buffer) < self._block_bytes:
                    raise OSError("short write")
                size = os.fstat(fd).st_blocks * 512
            finally:
                os.close(fd)
            temporary.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
        return size

    def load(self, key: int) -> bool:
        """Read a block and compare; False where its file is not there; raises TornError."""
        try:
            fd = os.open(self.path(key), os.O_RDONLY | self._flags)
        except FileNotFoundError:
            return False
        try:
            read = os.readv(fd, [self._buffer])
        finally:
            os.close(fd)
        if read < self._block_bytes or self._buffer[:] != self.content(key):
            raise TornError(f"block {key}: {read} bytes")
        return True
