"""Which flag an engine's parser takes a name for: its own, another name of it, one that turns it off, a shortened one.

Names of flags come without dashes. vLLM's and SGLang's parsers take every beginning of a flag that no other has.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from stacks.engine_flags import engine_flags
from stacks.row_lookup import Rows
from stacks.rows.engine_flags import Flag

__all__ = ["Reading", "Spellings", "known_flags", "known_spellings", "known_variables", "reading", "readings"]

Reading = tuple[str, bool]
"""The flag's own name, and whether it is turned off."""
Spellings = Mapping[str, Reading]
"""By every whole name of every flag."""


def known_spellings(rows: Rows) -> Spellings:
    """Return what the engine of a stack takes; empty where nobody has read it off."""
    return _spellings(rows.engine.kind, rows.engine.version, rows.release.kind, rows.release.version)


def known_flags(rows: Rows) -> Mapping[str, Flag]:
    """Return the flags that the engine of a stack takes, by their own names; empty where nobody has read them off."""
    return _flags(rows.engine.kind, rows.engine.version, rows.release.kind, rows.release.version)


def known_variables(rows: Rows) -> Mapping[str, tuple[frozenset[str], tuple[str, ...]]]:
    """Return, by prefix, the variables that engine and router stack read, and texts of compiled code that are some."""
    rows_of = (rows.engine.kind, rows.engine.version), (rows.release.kind, rows.release.version)
    files = [engine_flags(kind, version) for kind, version in rows_of]
    return {
        prefix: (frozenset(item.variables), tuple(item.variables_in_binary))
        for item in files
        if item is not None
        for prefix in item.prefixes
    }


@cache
def _flags(kind: str, version: str, router: str, release: str) -> Mapping[str, Flag]:
    engine = engine_flags(kind, version)
    flags = dict(engine.engine_flags) if engine else {}
    for files, program in ((engine, kind), (engine_flags(router, release), f"dynamo.{kind}")):
        if files is not None and program in files.programs:
            flags |= files.programs[program].flags
    return flags


@cache
def _spellings(kind: str, version: str, router: str, release: str) -> Spellings:
    flags = _flags(kind, version, router, release)
    found = {name: (name, False) for name in flags}
    for name, flag in flags.items():
        found |= {alias.removeprefix("--"): (name, False) for alias in flag.aliases if alias.startswith("--")}
        found |= {off.removeprefix("--"): (name, True) for off in [*flag.off, *flag.hidden_off(name)]}
    return found


def reading(name: str, known: Spellings) -> Reading:
    """Return what a flag's whole name stands for, itself where nobody knows it."""
    return known.get(name, (name, False))


def readings(name: str, known: Spellings) -> set[Reading]:
    """Return what a name may stand for, shortened ones too: more than one where it is too short for the parser."""
    if name in known:
        return {known[name]}
    return {stands_for for spelling, stands_for in known.items() if spelling.startswith(name)} or {(name, False)}
