"""A folder of rendered files that is kept up to date and never costs anybody's work.

The folder remembers what was written into it, file by file with its hash. Only such files are replaced or removed, and
only while they still hold what was written: a file that somebody edited, or that was there before, stops the run.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from stacks.problems import EnvironmentProblem, Problem, ProblemsFound

__all__ = ["RECORD", "Written", "update"]

RECORD = ".beamline-rendered"
"""List of what was written, in the form of sha256sum; without a suffix, so that kubectl passes it over."""

_Hashes = Mapping[str, set[str]]
"""File name -> hashes of what was written there; two while a run is under way."""


@dataclass(frozen=True)
class Written:
    """What a run did: file names, sorted."""

    changed: list[str]
    unchanged: list[str]
    removed: list[str]


def update(folder: Path, files: Mapping[str, str]) -> Written:
    """Make ``folder`` hold exactly ``files`` of ours, next to whatever else is in it.

    Raises ``ProblemsFound`` before anything is touched when a file of somebody else would be lost, and
    ``EnvironmentProblem`` when the folder cannot be written. A run that was killed is completed by the next.
    """
    try:
        recorded = _recorded(folder)
        problems = list(_in_the_way(folder, files, recorded))
        if problems:
            raise ProblemsFound(problems)
        folder.mkdir(parents=True, exist_ok=True)
        return _write(folder, files, recorded)
    except OSError as error:
        raise EnvironmentProblem(f"{error.filename or folder} cannot be written: {error.strerror}") from error


def _recorded(folder: Path) -> _Hashes:
    record = folder / RECORD
    found: dict[str, set[str]] = defaultdict(set)
    if record.is_file():
        for line in record.read_text(encoding="utf-8", errors="replace").splitlines():
            digest, _, name = line.partition("  ")
            if name and Path(name).name == name:
                found[name].add(digest)
    return found


def _in_the_way(folder: Path, files: Mapping[str, str], recorded: _Hashes) -> Iterator[Problem]:
    """Yield everything that a run would destroy."""
    if folder.exists() and not folder.is_dir():
        yield _problem(folder, "this is a file", "a folder")
        return
    if folder.is_dir() and any(folder.iterdir()) and not (folder / RECORD).is_file():
        yield _problem(folder, "the folder holds files that this command did not write", "an empty folder, or none yet")
        return
    for name in sorted({*files, *recorded}):
        path = folder / name
        if not path.exists() or _hash(path.read_bytes()) in {
            *recorded.get(name, ()),
            _hash(files.get(name, "").encode()),
        }:
            continue
        edited = "was changed after it was written" if name in recorded else "was not written by this command"
        yield _problem(path, f"the file {edited}, and would be lost", "a file as it was rendered, or none")


def _problem(path: Path, why: str, allowed: str) -> Problem:
    return Problem(
        rule="render-folder",
        path="--out",
        value=str(path),
        why=why,
        allowed=allowed,
        remedy="move it away, or render into another folder",
        source="beamline render",
    )


def _write(folder: Path, files: Mapping[str, str], recorded: _Hashes) -> Written:
    stale = [name for name in recorded if name not in files and (folder / name).exists()]
    changed = [name for name, text in files.items() if not _holds(folder / name, text)]
    final = {name: {_hash(text.encode())} for name, text in files.items()}
    if changed or stale or recorded != final:
        _record(folder, [recorded, final])
        for name in stale:
            (folder / name).unlink()
        for name in changed:
            _replace(folder / name, files[name])
        _record(folder, [final])
    return Written(sorted(changed), sorted(set(files) - set(changed)), sorted(stale))


def _record(folder: Path, parts: Iterable[_Hashes]) -> None:
    lines = {f"{digest}  {name}\n" for part in parts for name, digests in part.items() for digest in digests}
    _replace(folder / RECORD, "".join(sorted(lines, key=lambda line: line.partition("  ")[2])))


def _replace(path: Path, text: str) -> None:
    work = path.with_name(f".{path.name}.{os.getpid()}")
    work.write_text(text, encoding="utf-8")
    work.replace(path)


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes() == text.encode()


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
