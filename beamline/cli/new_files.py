"""Files of a user's own that a verb adds to stacks/: all of them or none, and never half of one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from stacks.problems import EnvironmentProblem

__all__ = ["write_all"]


def write_all(folder: Path, files: Mapping[str, str]) -> None:
    """Write ``files``, paths below ``folder`` with their text; raises ``EnvironmentProblem``, and then wrote nothing.

    Whether a file may be replaced is the caller's business; one that was replaced gets its old text back.
    """
    works = {folder / name: (folder / name).with_name(f".{Path(name).name}.{os.getpid()}") for name in files}
    before = {path: path.read_bytes() if path.is_file() else None for path in works}
    placed: list[Path] = []
    try:
        for name, text in files.items():
            works[folder / name].write_text(text, encoding="utf-8")
        for path, work in works.items():
            work.replace(path)
            placed.append(path)
    except OSError as error:
        for path in placed:
            _put_back(path, before[path])
        raise EnvironmentProblem(f"{error.filename or folder} cannot be written: {error.strerror}") from error
    finally:
        for work in works.values():
            with suppress(OSError):
                work.unlink(missing_ok=True)


def _put_back(path: Path, content: bytes | None) -> None:
    with suppress(OSError):
        if content is None:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(content)
