"""The lock file: every image of the catalog with the digest its registry named, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel

from beamline.registry.client import RefusedError, RegistryClient, UnreachableError
from beamline.registry.resolution import image_name, resolve_digest
from stacks.catalog_files import Catalog
from stacks.problems import EnvironmentProblem, Problem
from stacks.rows import ImageRow

__all__ = ["Entry", "Locked", "catalog_images", "refresh", "write_lock"]

_HEADER = """\
# Digest of every image in the catalog, as a registry answered; written by `beamline lock`, never by hand.
# An image that is not listed is unresolved: plan says so, and a production preset is refused in the cloud.
"""

Standing = Literal["new", "unchanged", "moved", "kept", "unresolved", "removed"]


@dataclass(frozen=True)
class Entry:
    """One image after a run.

    ``new``, ``unchanged`` and ``moved`` (its tag names other bytes than before) come from the registry; ``kept`` is an
    earlier digest whose registry did not confirm it now, ``unresolved`` has none, ``removed`` left the catalog.
    """

    image: str
    digest: str | None
    standing: Standing

    def to_json(self) -> dict[str, object]:
        """Return the record as JSON-ready data."""
        return asdict(self)


@dataclass(frozen=True)
class Locked:
    """Outcome of a run: all images, sorted by name, and what went wrong."""

    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...]

    def digests(self) -> dict[str, str]:
        """Return what belongs into the lock file."""
        return {e.image: e.digest for e in self.entries if e.digest is not None and e.standing != "removed"}


def catalog_images(catalog: Catalog) -> list[ImageRow]:
    """Return every image that any catalog row names, sorted by name, each once."""
    sections = [getattr(catalog, name) for name in catalog.__dataclass_fields__]
    found = {image_name(row): row for section in sections for row in _images_in(section)}
    return [found[name] for name in sorted(found)]


def _images_in(value: Any) -> Iterator[ImageRow]:
    if isinstance(value, ImageRow):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _images_in(getattr(value, name))
    elif isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _images_in(item)


def refresh(
    images: Sequence[ImageRow],
    locked: Mapping[str, str],
    client: RegistryClient,
    report: Callable[[Entry], None] = lambda _: None,
) -> Locked:
    """Ask the registries for every image; ``report`` is called after each.

    Raises ``EnvironmentProblem`` when none of them could be reached: then there is no network, and nothing was learnt.
    """
    entries, problems = [], []
    unreachable: list[str] = []
    for row in images:
        name = image_name(row)
        known = locked.get(name)
        try:
            digest = resolve_digest(client, row, known)
            entry = Entry(name, digest, "new" if known is None else "unchanged" if digest == known else "moved")
        except UnreachableError as error:
            unreachable.append(str(error))
            entry = _not_confirmed(name, known)
            problems.append(_unreachable(row, str(error)))
        except RefusedError as error:
            entry = _not_confirmed(name, known)
            problems.append(_refused(row, error))
        entries.append(entry)
        report(entry)
    if images and len(unreachable) == len(images):
        reasons = "; ".join(dict.fromkeys(unreachable))
        raise EnvironmentProblem(
            f"no registry could be reached, so nothing was changed: {reasons}. Run `beamline lock` on a machine that "
            "reaches the registries (a proxy is taken from HTTPS_PROXY)"
        )
    names = {image_name(row) for row in images}
    entries += [Entry(name, digest, "removed") for name, digest in locked.items() if name not in names]
    return Locked(tuple(sorted(entries, key=lambda e: e.image)), tuple(problems))


def _not_confirmed(name: str, known: str | None) -> Entry:
    return Entry(name, known, "unresolved" if known is None else "kept")


def _unreachable(row: ImageRow, why: str) -> Problem:
    return Problem(
        rule="registry-unreachable",
        path=image_name(row),
        why=f"{why}; the entry stays as it was",
        remedy="run `beamline lock` again when the registry can be reached",
        where="stacks/catalog",
        source=row.source,
    )


def _refused(row: ImageRow, error: RefusedError) -> Problem:
    return Problem(
        rule=error.rule,
        path=image_name(row),
        why=f"{error.why}; the entry stays as it was",
        remedy=error.remedy,
        where="stacks/catalog",
        source=row.source,
    )


def write_lock(path: Path, digests: Mapping[str, str]) -> None:
    """Write the lock file unless it says so already; readers see the old one or the new one.

    Raises ``EnvironmentProblem`` when it cannot be written.
    """
    text = _HEADER + yaml.safe_dump({"images": dict(digests)}, width=200, sort_keys=True)
    work = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if path.is_file() and path.read_bytes() == text.encode():
            return
        with work.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        work.replace(path)
    except OSError as error:
        work.unlink(missing_ok=True)
        raise EnvironmentProblem(f"{path} cannot be written: {error.strerror}") from error
