"""What of a resource's properties would change, and what each change would do.

Wanted inputs are compared with what was recorded as the provider does it: a value that is left out is a change only
where Google does not fill it in, and whatever only Google says is none.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from guard.table import Condition, PropertiesRow, longest

__all__ = ["UNKNOWN", "Effect", "PropertyChange", "Unknown", "changes"]

Effect = Literal["update", "may-replace", "replace"]


class Unknown:
    """A value that is known only once something else has been applied, or that is encrypted."""

    def __repr__(self) -> str:
        return "unknown until applied"


UNKNOWN: Final = Unknown()
_INDEX = re.compile(r"\[[^\]]*\]")
_LINK = re.compile(r"^(https?:)?//.*?(?=projects/)")
"""What stands before a path in a link: the API and its version."""
_NO_VALUE: Final = (None, "", 0, False)
"""What a provider records for a property that is not set."""


@dataclass(frozen=True)
class PropertyChange:
    """One property. ``old`` is None where nothing was recorded, ``new`` where it is left out or ``UNKNOWN``.

    ``listed`` is false for a property that the table does not have.
    """

    path: str
    old: object
    new: object
    effect: Effect
    listed: bool = True


def changes(
    row: PropertiesRow,
    recorded: Mapping[str, Any],
    wanted: Mapping[str, Any],
    *,
    ignored: Sequence[str] = (),
    written: Mapping[str, Any] | None = None,
) -> list[PropertyChange]:
    """Return every change, by path. ``recorded`` are the outputs in the state, ``wanted`` the inputs of the program.

    ``ignored`` is the resource's ``ignore_changes``. ``written`` are the inputs in the state, where they are known:
    they tell whether a property outside the table was the program's own.
    """
    old, new = _leaves(row, recorded), _leaves(row, wanted)
    theirs = _leaves(row, written or {})
    found = [
        *(_given(row, path, old.get(path), value) for path, value in new.items()),
        *(_left_out(row, path, value, path in theirs) for path, value in old.items() if not _is_said(path, new)),
    ]
    return sorted(
        (change for change in found if change and not _is_ignored(change.path, ignored)), key=lambda c: c.path
    )


def _given(row: PropertiesRow, path: str, old: object, new: object) -> PropertyChange | None:
    effect, listed = _effect(row, path, old, new)
    if isinstance(new, Unknown):
        # Most often it turns out to be the old value; only where another one would replace the resource is that a risk.
        risky = effect == "replace"
        return PropertyChange(path, old, new, "may-replace") if risky else None
    if isinstance(old, Unknown) or _same(row, path, old, new):
        return None
    return PropertyChange(path, old, new, effect, listed)


def _left_out(row: PropertiesRow, path: str, old: object, was_written: bool) -> PropertyChange | None:
    if isinstance(old, Unknown) or old in _NO_VALUE or old == row.defaults.get(_plain(path)):
        return None
    if longest(_plain(path), row.keep):
        return None
    effect, listed = _effect(row, path, old, None)
    if effect == "replace" or (not listed and was_written):
        return PropertyChange(path, old, None, effect, listed)
    return PropertyChange(path, old, None, "update") if was_written else None


def _effect(row: PropertiesRow, path: str, old: object, new: object) -> tuple[Effect, bool]:
    plain = _plain(path)
    row_path = longest(plain, [*row.replace, *row.in_place, *row.when])
    if row_path is None:
        return "may-replace", False
    if row_path in row.when:
        return ("replace" if _meets(row.when[row_path], old, new) else "update"), True
    return ("replace" if row_path in row.replace else "update"), True


def _same(row: PropertiesRow, path: str, old: object, new: object) -> bool:
    plain = _plain(path)
    if old is None:
        return new == row.defaults[plain] if plain in row.defaults else new in _NO_VALUE
    if longest(plain, row.by_name):
        return _is_same_name(str(old), str(new))
    return old == new


def _is_same_name(old: str, new: str) -> bool:
    """Compare names of one thing: a bare one says nothing about the place, two paths do, as far as the shorter goes."""
    if "/" not in old or "/" not in new:
        return old.rpartition("/")[2] == new.rpartition("/")[2]
    shorter, longer = sorted((_LINK.sub("", old), _LINK.sub("", new)), key=len)
    return f"/{longer}".endswith(f"/{shorter}")


def _meets(condition: Condition, old: object, new: object) -> bool:
    """Tell whether a change is one of those that need a new resource; in doubt it is."""
    if isinstance(new, Unknown) or isinstance(old, Unknown):
        return True
    match condition:
        case "smaller":
            return isinstance(old, int) and not (isinstance(new, int) and new > old)
        case "switched_off":
            return old is True and new is not True
        case "narrower":
            return not _holds(str(new), str(old))


def _holds(wide: str, narrow: str) -> bool:
    try:
        outer, inner = ipaddress.ip_network(wide, strict=False), ipaddress.ip_network(narrow, strict=False)
    except ValueError:
        return False
    first, last = int(outer.network_address), int(outer.broadcast_address)
    is_within = first <= int(inner.network_address) and int(inner.broadcast_address) <= last
    return outer.version == inner.version and is_within


def _is_said(path: str, new: Mapping[str, object]) -> bool:
    """Tell whether the program says anything about a recorded leaf; a part of it may be unknown as a whole."""
    return path in new or any(
        isinstance(value, Unknown) and path.startswith((f"{said}.", f"{said}[")) for said, value in new.items()
    )


def _is_ignored(path: str, ignored: Sequence[str]) -> bool:
    plain = _plain(path)
    return any(plain == name or plain.startswith(f"{name}.") for name in map(_plain, ignored))


def _plain(path: str) -> str:
    return _INDEX.sub("", path)


def _leaves(row: PropertiesRow, value: Mapping[str, Any]) -> dict[str, object]:
    return dict(_walk(row, value, ""))


def _walk(row: PropertiesRow, value: object, path: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        filled_in = value.get("__defaults", ())
        for key, item in value.items():
            if not key.startswith("__") and key not in filled_in:
                yield from _walk(row, item, f"{path}.{key}" if path else key)
    elif isinstance(value, list | tuple):
        items = sorted(value, key=repr) if _plain(path) in row.unordered else value
        for index, item in enumerate(items):
            yield from _walk(row, item, f"{path}[{index}]")
    elif value is not None:
        yield path, value
