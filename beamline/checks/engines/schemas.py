"""What one container may be told: its program's flags, their documents, and the variables of its engine.

Versions are those of the image: an engine's own tag, or a Dynamo release, whose row says which engine is in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from beamline.checks.engines.command_line import FlagNames
from beamline.checks.engines.containers import EngineContainer
from stacks.catalog_files import load_catalog
from stacks.engine_flags import engine_flags, known_versions
from stacks.rows.engine_flags import Document, EngineFlags, Flag
from stacks.versions import numbers

__all__ = ["Schema", "missing_version", "schema_of"]

_VERSION = re.compile(r"v?(\d+\.\d+\.\d+)")


@dataclass(frozen=True)
class Schema:
    """What a program takes, and who says so."""

    flags: Mapping[str, Flag]
    names: FlagNames
    documents: Mapping[str, Document]
    model_first: bool
    variables: Mapping[str, tuple[frozenset[str], tuple[str, ...]]]
    """Prefix -> names, and texts of compiled code that names may begin."""
    source: str


def schema_of(container: EngineContainer) -> Schema | None:
    """Return the schema of a container; None where the version in its image was not read off."""
    program, tag = container.program, _tag(container.image)
    release = _flags("dynamo", tag) if program.startswith("dynamo.") else None
    flag = release.programs[program].engine_by if release is not None else None
    return _schema(program, tag, _value_of(flag, container) if flag else None)


def missing_version(container: EngineContainer) -> tuple[str, str, list[str]]:
    """Return, of a container without schema, what it runs in which version, and the versions that are known."""
    kind = "dynamo" if container.program.startswith("dynamo.") else container.program
    return kind, _tag(container.image) or "?", sorted(known_versions(kind), key=numbers)


def _tag(image: str) -> str:
    """The version that an image's tag says, less its digest; empty when it says none."""
    found = _VERSION.fullmatch(image.partition("@")[0].rpartition("/")[2].partition(":")[2])
    return found[1] if found else ""


@cache
def _schema(program: str, tag: str, chosen: str | None) -> Schema | None:
    if not program.startswith("dynamo."):
        files = _flags(program, tag)
        return None if files is None else _of(program, files, files)
    release = _flags("dynamo", tag)
    if release is None:
        return None
    own = release.programs[program]
    kind = own.engine or chosen or ""
    row = load_catalog().releases.get(f"dynamo-{tag}")
    engines = {} if row is None else {name: versions for name, versions in row.engines.items() if name == kind}
    versions = [version for found in engines.values() for version in found]
    engine = _flags(kind, versions[0] if versions else "") if kind else None
    return _of(program, release, engine)


def _flags(kind: str, version: str) -> EngineFlags | None:
    """The flags of a version; of an image whose tag says none, the newest that is known."""
    known = known_versions(kind)
    return engine_flags(kind, version or max(known, key=numbers, default=""))


def _value_of(flag: str, container: EngineContainer) -> str | None:
    """The value of a flag in a command line, written either way."""
    words = [word for _, word in container.words]
    for word, following in zip(words, [*words[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if name == f"--{flag}":
            return value if equals else following
    return None


def _of(program: str, files: EngineFlags, engine: EngineFlags | None) -> Schema:
    own = files.programs[program]
    flags: dict[str, Flag] = dict(own.flags)
    if engine is not None:
        all_flags = dict(engine.engine_flags)
        if own.engine_by is not None:
            all_flags |= engine.programs[engine.kind].flags
        takes = own.engine_takes.get(engine.kind) or list(all_flags)
        flags = {**{name: all_flags[name] for name in takes}, **flags}
    sources = {item.kind: item for item in (files, engine) if item is not None}
    judged = engine or files
    return Schema(
        flags=flags,
        names=FlagNames(flags, underscores=judged.underscores, dotted=judged.dotted),
        documents=judged.documents,
        model_first=own.model_first,
        variables={
            prefix: (frozenset(item.variables), tuple(item.variables_in_binary))
            for item in sources.values()
            for prefix in item.prefixes
        },
        source="; ".join(f"stacks/catalog/engine_flags/{item.kind}-{item.version}.json" for item in sources.values()),
    )
