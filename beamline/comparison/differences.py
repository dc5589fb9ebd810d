"""Two pieces of JSON-like data, compared as a person would: by names where there are names.

Mappings by key, lists by what names their elements (``elements``), argument lists by flag, texts that hold JSON or YAML
by what they hold. Nothing that differs goes unsaid: a text whose content is the same and whose writing is not is a
changed text. The result is sorted, the same in every run, and mirrors when the sides are swapped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from beamline.comparison.alike import canonical, pairs
from beamline.comparison.arguments import read_arguments
from beamline.comparison.elements import Named, by_name
from beamline.comparison.embedded import parsed
from beamline.comparison.model import Difference, Path, key_step, renamed, step

__all__ = ["differences"]

_ARGUMENTS = ("args", "command")
"""Keys of a container whose lists are argument lists."""
_ORDER = "(order)"
_ABSENT: Any = object()


def differences(old: Any, new: Any) -> list[Difference]:
    """Return everything that differs between two values."""
    return list(_of(old, new, ()))


def _of(old: Any, new: Any, path: Path) -> Iterator[Difference]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        yield from _of_mappings(old, new, path)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _of_lists(old, new, path)
    elif isinstance(old, str) and isinstance(new, str):
        yield from _of_texts(old, new, path)
    elif old != new or isinstance(old, bool) != isinstance(new, bool):
        yield Difference(path, "changed", old, new)


def _of_mappings(old: Mapping[str, Any], new: Mapping[str, Any], path: Path) -> Iterator[Difference]:
    for key in sorted({*old, *new}, key=str):
        yield from _of_maybe(old.get(key, _ABSENT), new.get(key, _ABSENT), (*path, key_step(key)))


def _of_maybe(old: Any, new: Any, path: Path) -> Iterator[Difference]:
    """Compare where one side may have nothing; a list that came is told element by element."""
    if old is _ABSENT and isinstance(new, list) and new:
        yield from _of([], new, path)
    elif new is _ABSENT and isinstance(old, list) and old:
        yield from _of(old, [], path)
    elif old is _ABSENT:
        yield Difference(path, "added", new=new)
    elif new is _ABSENT:
        yield Difference(path, "removed", old=old)
    else:
        yield from _of(old, new, path)


def _of_texts(old: str, new: str, path: Path) -> Iterator[Difference]:
    if old == new:
        return
    before, after = parsed(old), parsed(new)
    found = list(_of(before, after, path)) if type(before) is type(after) and before is not None else []
    yield from found or [Difference(path, "changed", old, new)]


def _of_lists(old: list[Any], new: list[Any], path: Path) -> Iterator[Difference]:
    everything = [*old, *new]
    texts = all(isinstance(item, str) for item in everything)
    if texts and path and path[-1] in _ARGUMENTS:
        yield from _of_arguments(old, new, path)
    elif not any(isinstance(item, Mapping | list) for item in everything):
        yield from _of_scalars(old, new, path)
    elif named := by_name(old, new):
        yield from _of_named(*named, path)
    elif canonical(old) <= canonical(new):
        yield from _of_sequences(old, new, path)
    else:  # alignment prefers one side, so it is always done in the same direction
        yield from (found.mirrored() for found in _of_sequences(new, old, path))


def _of_arguments(old: Sequence[str], new: Sequence[str], path: Path) -> Iterator[Difference]:
    before, after = read_arguments(old), read_arguments(new)
    for index in range(max(len(before.words), len(after.words))):
        yield from _of_maybe(_at(before.words, index), _at(after.words, index), (*path, step(index)))
    for name in sorted({*before.flags, *after.flags}):
        was, now = before.flags.get(name, []), after.flags.get(name, [])
        if max(len(was), len(now)) > 1:
            yield from _of_scalars(list(was), list(now), (*path, name))
        else:
            yield from _of_maybe(_at(was, 0), _at(now, 0), (*path, name))


def _at(values: Sequence[Any], index: int) -> Any:
    return values[index] if index < len(values) else _ABSENT


def _of_scalars(old: list[Any], new: list[Any], path: Path) -> Iterator[Difference]:
    before, after = (Counter(canonical(item) for item in side) for side in (old, new))
    values = {canonical(item): item for item in (*old, *new)}
    for text in sorted((before - after).elements()):
        yield Difference((*path, "[]"), "removed", old=values[text])
    for text in sorted((after - before).elements()):
        yield Difference((*path, "[]"), "added", new=values[text])
    if before == after and old != new:
        yield Difference((*path, _ORDER), "changed", old, new)


def _of_named(old: Named, new: Named, path: Path) -> Iterator[Difference]:
    gone = {name: value for name, value in old.items() if name not in new}
    come = {name: value for name, value in new.items() if name not in old}
    replaced = pairs(gone, come)
    for name in sorted({*old, *new}):
        was, now = old.get(name, _ABSENT), new.get(name, _ABSENT)
        if not any(name in pair for pair in replaced):
            at = (*path, step(name))
            if was is _ABSENT:
                yield Difference(at, "added", new=now)
            elif now is _ABSENT:
                yield Difference(at, "removed", old=was)
            else:
                yield from _of(was, now, at)
    for before, after in replaced:
        at = (*path, renamed(before, after))
        yield Difference(at, "replaced", before, after)
        yield from _of(old[before], new[after], at)
    kept = [name for name in old if name in new], [name for name in new if name in old]
    if kept[0] != kept[1]:
        yield Difference((*path, _ORDER), "changed", *kept)


def _of_sequences(old: list[Any], new: list[Any], path: Path) -> Iterator[Difference]:
    """Compare elements that nothing names: those that are equal stay, the others are paired by their place."""
    matcher = SequenceMatcher(
        None, [canonical(item) for item in old], [canonical(item) for item in new], autojunk=False
    )
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        if tag == "equal":
            continue
        was, now = list(range(start, end)), list(range(other_start, other_end))
        for before, after in zip(was, now, strict=False):
            yield from _of(old[before], new[after], (*path, renamed(before, after)))
        yield from (Difference((*path, step(i)), "removed", old=old[i]) for i in was[len(now) :])
        yield from (Difference((*path, step(i)), "added", new=new[i]) for i in now[len(was) :])
