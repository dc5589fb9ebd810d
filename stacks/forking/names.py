"""What a fork may be called, and which hardware it may name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from stacks.catalog_files import Catalog
from stacks.checks.launch import STACK_NAME
from stacks.problems import Problem
from stacks.settings import stack_file
from stacks.typing_problems import nearest

__all__ = ["name_problems", "near_miss", "taken"]

_WHERE = "beamline fork"
_MACHINE_TYPE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")
_CLOSE = 0.8


def name_problems(name: str, hardware: str | None, catalog: Catalog) -> list[Problem]:
    """Return what is wrong with the words themselves: the new preset's name, and the machine type."""
    problems = [] if STACK_NAME.fullmatch(name) else [_not_a_name(name)]
    if hardware is not None and hardware not in catalog.hardware:
        problems += _hardware(hardware, catalog)
    return problems


def _not_a_name(name: str) -> Problem:
    return Problem(
        rule="fork-name",
        path="NAME",
        value=name,
        why="a fork is a preset and a stack of the same name, and every resource of a stack is named after it",
        allowed="1 to 13 lower-case letters, digits and hyphens; a letter first, no hyphen last",
        remedy="choose another name",
        where=_WHERE,
        source="IAM docs, service account ids: beamline-<stack>-weights has at most 30 characters",
    )


def _hardware(hardware: str, catalog: Catalog) -> Iterator[Problem]:
    """Hardware nobody has described gets a row to fill in; a misspelling, or a machine without GPUs, gets none."""
    known = nearest(hardware, catalog.hardware, cutoff=_CLOSE)
    if hardware in catalog.unfinished:
        return
    if hardware in catalog.system:
        yield _refused(
            hardware, catalog, "this is a machine type of the system pool: it has no GPUs", "name one with GPUs"
        )
    elif known is not None and _digits(known) == _digits(hardware):
        why = f"the catalog has no {hardware!r}, but one that differs by letters only; did you mean {known!r}?"
        yield _refused(hardware, catalog, why, f"write {known!r}")
    elif not _MACHINE_TYPE.fullmatch(hardware):
        why = "this does not have the form of a machine type"
        yield _refused(hardware, catalog, why, "write it as Google does, such as g4-standard-384")


def _refused(hardware: str, catalog: Catalog, why: str, remedy: str) -> Problem:
    return Problem(
        rule="fork-hardware",
        path="--hardware",
        value=hardware,
        why=why,
        allowed=f"{', '.join(catalog.hardware)}; or a machine type that has no row yet",
        remedy=remedy,
        where=_WHERE,
        source="stacks/catalog/hardware",
    )


def _digits(text: str) -> list[str]:
    """The numbers of a machine type: another size is another machine, other letters beside equal numbers a slip."""
    return re.findall("[0-9]+", text)


def near_miss(hardware: str, catalog: Catalog) -> Iterator[Problem]:
    """A warning where hardware without a row is named nearly as hardware that has one."""
    known = nearest(hardware, catalog.hardware, cutoff=_CLOSE)
    if known is not None and hardware not in catalog.unfinished:
        why = f"the catalog has no such machine type, but {known!r}"
        remedy = f"if you meant {known!r}, remove the files that were written and fork again"
        yield replace(_refused(hardware, catalog, why, remedy), severity="warning")


def taken(root: Path, name: str, *, replaceable: str | None) -> Iterator[Problem]:
    """One problem for each file that is there already, but for a preset that still holds ``replaceable``."""
    for path in (root / "presets" / f"{name}.yaml", stack_file(name, root)):
        if not path.is_symlink() and not path.exists():
            continue
        if replaceable is not None and path.is_file() and path.read_bytes() == replaceable.encode():
            continue
        yield Problem(
            rule="fork-exists",
            path="NAME",
            value=name,
            why=f"{path.relative_to(root.parent)} is there already, and a fork never writes over a file",
            allowed="a name that no preset and no stack has",
            remedy="choose another name, or remove the file",
            where=_WHERE,
            source=str(path.relative_to(root.parent)),
        )
