"""Flags of an engine's command line: unknown ones, wrong values, and one that is given twice."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from beamline.checks.engines.command_line import CommandLine, Setting, read_command_line
from beamline.checks.engines.containers import EngineContainer
from beamline.checks.engines.documents import document_faults
from beamline.checks.engines.schemas import Schema
from policies.objects import OPAQUE
from stacks.problems import Problem
from stacks.rows.engine_flags import Flag
from stacks.typing_problems import nearest

__all__ = ["flag_problems"]

_REFERENCE = re.compile(r"\$\([A-Za-z_]\w*\)|" + re.escape(OPAQUE))


def flag_problems(container: EngineContainer, schema: Schema) -> Iterator[Problem]:
    """Yield every problem of a container's command line."""
    line = read_command_line(container.words, schema.flags, schema.names)
    for path, written in line.unknown:
        yield _unknown(path, written, container, schema)
    for setting in line.settings:
        yield from _value_problems(setting, line, container, schema)
    yield from _twice(line, container, schema)
    for path, word in line.loose[1 if schema.model_first else 0 :]:
        if word != OPAQUE:
            yield _problem(
                "engine-argument",
                path,
                word,
                f"{container.program} takes no word here that is not a flag's value",
                remedy="take it out, or write the flag that it belongs to before it",
                container=container,
                schema=schema,
            )


def _problem(
    rule: str,
    path: str,
    value: object,
    why: str,
    *,
    remedy: str,
    container: EngineContainer,
    schema: Schema,
    allowed: str = "",
) -> Problem:
    return Problem(
        rule=rule,
        path=path,
        value=value,
        why=why,
        allowed=allowed,
        remedy=remedy,
        where=container.urn,
        source=schema.source,
    )


def _unknown(path: str, written: str, container: EngineContainer, schema: Schema) -> Problem:
    names = {f"--{name}" for name in schema.flags} | {a for flag in schema.flags.values() for a in flag.aliases}
    longer = sorted(name for name in names if written.startswith("--") and name.startswith(written))
    if longer:
        why = (
            f"{written} is the beginning of {', '.join(longer[:3])}: a parser may take it for one of them, or for none"
        )
        remedy, allowed = f"write {longer[0]} in full", ", ".join(longer)
    else:
        spelled = written.replace("_", "-")
        guess = spelled if spelled in names else nearest(written, names)
        why = f"{container.program} knows no flag {written}" + (f"; did you mean {guess}?" if guess else "")
        why += " It would end at start"
        remedy, allowed = (f"write {guess}", guess) if guess else ("take it out", "")
    return _problem(
        "engine-flag", path, written, why, remedy=remedy, container=container, schema=schema, allowed=allowed
    )


def _value_problems(
    setting: Setting, line: CommandLine, container: EngineContainer, schema: Schema
) -> Iterator[Problem]:
    flag = schema.flags[setting.name]
    if setting.inside:
        return  # a part of a document: the engine puts them together
    said: dict[str, Any] = {"container": container, "schema": schema}
    if flag.kind == "switch":
        if setting.values:
            path, value = setting.values[0]
            why = f"{setting.written} is a switch: it takes no value, and the engine ends at start"
            yield _problem("engine-flag-value", path, value, why, remedy=f"write {setting.written} alone", **said)
        return
    if not setting.values:
        if flag.values != "optional":
            why = f"{setting.written} needs a value"
            yield _problem("engine-flag-value", setting.path, None, why, remedy="write one after it", **said)
        return
    for path, value in setting.values:
        if not _REFERENCE.search(value):
            yield from _one_value(path, value, setting, flag, line, said)


def _one_value(
    path: str, value: str, setting: Setting, flag: Flag, line: CommandLine, said: Mapping[str, Any]
) -> Iterator[Problem]:
    schema: Schema = said["schema"]
    if flag.choices and value not in flag.choices:
        guess = nearest(value, flag.choices)
        why = f"{setting.written} does not take {value!r}" + (f"; did you mean {guess!r}?" if guess else "")
        remedy = f"write {guess!r}" if guess else "write one of them"
        yield _problem("engine-flag-value", path, value, why, remedy=remedy, allowed=", ".join(flag.choices), **said)
    elif form := flag.form_missed(value):
        why = f"{setting.written} takes {form}"
        yield _problem("engine-flag-value", path, value, why, remedy=f"write {form}", allowed=form, **said)
    elif flag.document is not None and not value.startswith("@"):
        document = schema.documents[flag.document]
        given = {s.name: s.values[0][1] for s in line.settings if s.values}
        if any(given.get(name) != wanted for name, wanted in document.only_with.items()):
            return
        for fault in document_faults(value, flag.document, schema.documents):
            yield _problem(
                "engine-document",
                f"{path} {setting.written}{fault.path}",
                fault.value,
                fault.why,
                remedy=fault.remedy,
                allowed=fault.allowed,
                **said,
            )


def _twice(line: CommandLine, container: EngineContainer, schema: Schema) -> Iterator[Problem]:
    """A parser takes the last of two; whoever reads the first, a person or another program, is misled."""
    first: dict[tuple[str, str], Setting] = {}
    for setting in line.settings:
        key = (setting.name, setting.inside)
        if schema.flags[setting.name].values == "many":
            continue
        if key in first:
            before, after = _shown(first[key]), _shown(setting)
            why = f"the same flag stands there as {before}, and as {after}: the last one holds, whoever reads the first"
            yield _problem(
                "engine-flag-twice",
                setting.path,
                after,
                why,
                remedy="take out one of them; what the kit derives is set by the key that it follows from",
                container=container,
                schema=schema,
            )
        first.setdefault(key, setting)


def _shown(setting: Setting) -> str:
    return "=".join([setting.written, *(value for _, value in setting.values[:1])])
