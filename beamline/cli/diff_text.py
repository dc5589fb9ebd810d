"""How a comparison reads, for people and for programs.

Lines are folded here, at one width for every machine, so that what a review looks at is the same bytes everywhere.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any

from beamline.comparison import Difference, Opaque, parsed, written

__all__ = ["folded", "lines_of", "word"]

_WIDTH = 120
_STEP = "    "
_SIGN = {"added": "+", "removed": "-", "changed": "~", "replaced": "~"}
_READ_OTHERWISE = re.compile(r"(true|false|null|[\[{\"'].*|.*(: | -> ).*|\s.*|.*\s)", re.DOTALL)
"""Texts that would be taken for something else if they were written as they are."""


def word(value: Any) -> str:
    """Return a value as one line: texts bare where nothing is lost, the rest as YAML writes it in a line."""
    match value:
        case Opaque(word=what):
            return f"({what if what == 'secret' else 'known after apply'})"
        case str() if value and "\n" not in value and not _READ_OTHERWISE.fullmatch(value):
            return value
        case Mapping():
            return f"{{{', '.join(f'{key}: {word(item)}' for key, item in value.items())}}}"
        case list():
            return f"[{', '.join(word(item) for item in value)}]"
    return json.dumps(value, ensure_ascii=False)


def lines_of(difference: Difference, indent: str, *, below: int = 0) -> Iterator[str]:
    """Yield the lines of one difference; of its path, ``below`` steps are said already."""
    path, sign = _path(difference, below), _SIGN[difference.change]
    old, new = difference.old, difference.new
    match difference.change:
        case "added" | "removed":
            value = new if difference.change == "added" else old
            yield from (
                [f"{indent}{sign} {path}"]
                if _is_bare(difference.path[-1], value)
                else _whole(f"{sign} {path}", value, indent)
            )
        case "replaced":
            yield f"{indent}{sign} {path}"
        case "changed":
            yield from _changed(f"{sign} {path}", old, new, indent)


def _is_bare(last: str, value: Any) -> bool:
    """A switch, or an element that is nothing but its name."""
    return (value is True and last.startswith("-")) or (value == {} and last.startswith("["))


def _path(difference: Difference, below: int) -> str:
    """An argument's place is plain from its dashes."""
    path = difference.path[below:]
    flag = next((index for index, part in enumerate(path) if part.startswith("-")), 0)
    return written(path[flag:])


def _changed(head: str, old: Any, new: Any, indent: str) -> Iterator[str]:
    told = list(_text_lines(old, new, indent + _STEP)) if isinstance(old, str) and isinstance(new, str) else []
    if told and "\n" in f"{old}{new}":
        yield f"{indent}{head}"
        yield from told
        return
    before, after = _two_words(old, new)
    line = f"{indent}{head}: {before} -> {after}"
    if len(line) <= _WIDTH:
        yield line
        return
    yield f"{indent}{head}"
    yield from folded(f"- {before}", indent + _STEP)
    yield from folded(f"+ {after}", indent + _STEP)


def _two_words(old: Any, new: Any) -> tuple[str, str]:
    """A number that became a text of the same digits is no difference to the eye."""
    before, after = word(old), word(new)
    if before != after:
        return before, after
    return json.dumps(old, default=repr), json.dumps(new, default=repr)


def _text_lines(old: str, new: str, indent: str) -> Iterator[str]:
    was, now = old.splitlines(), new.splitlines()
    for tag, start, end, other_start, other_end in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        if tag != "equal":
            yield from (f"{indent}- {line}".rstrip() for line in was[start:end])
            yield from (f"{indent}+ {line}".rstrip() for line in now[other_start:other_end])


def _whole(head: str, value: Any, indent: str) -> Iterator[str]:
    """Yield a value on one line if it fits, else what it holds below its name."""
    if isinstance(value, str) and (held := parsed(value)) is not None:
        value = held
    line = f"{indent}{head}: {word(value)}"
    if len(line) <= _WIDTH:
        yield line
    elif isinstance(value, Mapping):
        yield f"{indent}{head}"
        for key, item in value.items():
            yield from _whole(str(key), item, indent + _STEP)
    elif isinstance(value, list):
        yield f"{indent}{head}"
        for item in value:
            yield from _item(item, indent + _STEP)
    elif isinstance(value, str) and "\n" in value:
        yield f"{indent}{head}"
        yield from (f"{indent}{_STEP}{text}".rstrip() for text in value.splitlines())
    else:
        yield from folded(line[len(indent) :], indent)


def _item(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, str) and "\n" in value:
        yield from (f"{indent}{text}".rstrip() for text in value.splitlines())
    else:
        yield from folded(f"* {word(value)}", indent)


def folded(line: str, indent: str) -> Iterable[str]:
    """Return a line as lines of the width, the first begun at ``indent``."""
    return textwrap.wrap(
        line,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + _STEP,
        break_on_hyphens=False,
        replace_whitespace=False,
    )
