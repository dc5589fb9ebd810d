"""A program's arguments as what they mean: flags by name, and the words between them.

An argument list is compared without the order of its flags, which no parser here minds. ``--name=value`` and
``--name value`` say the same; a bare ``--name`` before another flag is a switch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Arguments", "Value", "read_arguments"]

Value = str | bool
"""Of a flag; True for a switch."""


@dataclass
class Arguments:
    """Words without a flag in their order, and the values of each flag in theirs."""

    words: list[str] = field(default_factory=list)
    flags: dict[str, list[Value]] = field(default_factory=dict)


def read_arguments(argv: Sequence[str]) -> Arguments:
    """Read an argument list; everything after ``--`` is words."""
    found = Arguments()
    index = 0
    while index < len(argv):
        word = argv[index]
        index += 1
        if word == "--":
            found.words += [word, *argv[index:]]
            break
        if not _is_flag(word):
            found.words.append(word)
            continue
        name, equals, value = word.partition("=")
        said: Value = value if equals else True
        if not equals and index < len(argv) and not argv[index].startswith("-"):
            said = argv[index]
            index += 1
        found.flags.setdefault(name, []).append(said)
    return found


def _is_flag(word: str) -> bool:
    return word.startswith("-") and len(word) > 1 and "\n" not in word.partition("=")[0] and not _is_number(word)


def _is_number(word: str) -> bool:
    return word[1:].replace(".", "", 1).isdigit()
