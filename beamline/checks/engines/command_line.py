"""A command line cut into settings, the way Python's argparse cuts it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from stacks.rows.engine_flags import Flag

__all__ = ["CommandLine", "FlagNames", "Setting", "read_command_line"]


@dataclass(frozen=True)
class Setting:
    """One flag as it stands in a command line.

    ``name`` is the flag's own, without dashes; ``inside`` the dotted key after it; ``values`` what it is given, each
    with its place. ``attached`` says that the value stands behind an equals sign.
    """

    path: str
    written: str
    name: str
    inside: str
    values: tuple[tuple[str, str], ...]
    attached: bool
    off: bool = False


@dataclass(frozen=True)
class CommandLine:
    """Settings in their order, flags that nobody knows, and words that are no flag's."""

    settings: tuple[Setting, ...]
    unknown: tuple[tuple[str, str], ...]
    """Place and flag, as written, without its value."""
    loose: tuple[tuple[str, str], ...]


class FlagNames:
    """Every spelling of every flag."""

    def __init__(self, flags: Mapping[str, Flag], *, underscores: bool, dotted: bool) -> None:
        self._underscores, self._dotted = underscores, dotted
        self._names = {f"--{name}": (name, False) for name in flags}
        for name, flag in flags.items():
            self._names |= dict.fromkeys(flag.aliases, (name, False))
            self._names |= dict.fromkeys([*flag.off, *flag.hidden_off(name)], (name, True))

    def find(self, written: str) -> tuple[str, str, bool] | None:
        """Return name, dotted key and whether it is turned off; None for a flag that nobody knows."""
        if written in self._names:
            name, off = self._names[written]
            return name, "", off
        start, dot, inside = written.partition(".")
        spelled = start.replace("_", "-") if self._underscores and start.startswith("--") else start
        if spelled in self._names and (not dot or self._dotted):
            name, off = self._names[spelled]
            return name, inside, off
        return None


def read_command_line(words: Sequence[tuple[str, str]], flags: Mapping[str, Flag], names: FlagNames) -> CommandLine:
    """Cut ``words``, each with its place, into settings."""
    settings, unknown, loose = [], [], []
    at = 0
    while at < len(words):
        path, word = words[at]
        at += 1
        if not _is_flag(word):
            loose.append((path, word))
            continue
        written, equals, value = word.partition("=")
        found = names.find(written)
        following = list(_values(words[at:]))
        if found is None:
            unknown.append((path, written))
            at += 0 if equals else min(1, len(following))
            continue
        name, inside, off = found
        taken = [] if equals else following[: _takes(flags[name], inside)]
        at += len(taken)
        values = ((path, value),) if equals else tuple(taken)
        settings.append(Setting(path, written, name, inside, values, attached=bool(equals), off=off))
    return CommandLine(tuple(settings), tuple(unknown), tuple(loose))


def _is_flag(word: str) -> bool:
    return word.startswith("-") and len(word) > 1 and not _is_negative(word)


def _is_negative(word: str) -> bool:
    return word[1:].replace(".", "", 1).isdigit()


def _values(words: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for path, word in words:
        if _is_flag(word):
            return
        yield path, word


def _takes(flag: Flag, inside: str) -> int | None:
    """How many words a flag may take; None: all up to the next flag."""
    if flag.kind == "switch" and not inside:
        return 0
    return None if flag.values == "many" else 1
