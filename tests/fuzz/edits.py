"""Edits of a preset or of overrides: what users change, and what they get wrong.

Each edit takes ``draw``, the data to change, and ``full``: the complete preset below, which says what there is to
change. Sections that ``data`` does not have yet are begun by the edit.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.keys import Path, at, fitting, members, paths
from tests.fuzz.sound import at_path
from tests.fuzz.writing import SCALARS, TRAPS
from tests.matrix.composing import AXES, composed

__all__ = ["ANYTHING", "MISTAKES", "SOUND", "edited", "misspelt"]

Data = dict[str, Any]
Edit = Callable[[st.DrawFn, Data, Data], None]
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=12) | st.sampled_from(["kind", "secure"]), inner, max_size=3)
    ),
    max_leaves=6,
)
"""Any data a YAML file can hold."""
_LIMITS = [0, -1, 1, 2**31, 2**63 - 1, 2**63, 2**64, 10**30, 0.0, -0.5, 1.0, 1e-320, 1e300, float("nan"), float("inf")]


def _put(data: MutableMapping[str, Any], path: Path, value: Any) -> None:
    """Write ``value``; where something other than a section is in the way, an earlier edit stays."""
    *above, last = path
    place: Any = data
    for key in above:
        place = place.setdefault(key, {})
        if not isinstance(place, MutableMapping):
            return
    place[last] = value


def _take(data: Data, path: Path) -> Any:
    place = at_path(data, path[:-1])
    return place.pop(path[-1], None) if isinstance(place, MutableMapping) else None


def _overridable(full: Data) -> list[Path]:
    return [path for path in paths(full) if path[0] not in ("evidence", "description")]


def _one(draw: st.DrawFn, full: Data) -> Path:
    return draw(st.sampled_from(_overridable(full)))


def _unions(full: Data) -> dict[Path, dict[str, Any]]:
    """Sections of ``full`` that are chosen by their kind, with their members."""
    found = {path: members(schema) for path in _overridable(full) if (schema := at(path, full)) is not None}
    return {path: kinds for path, kinds in found.items() if kinds}


def misspelt(draw: st.DrawFn, key: str) -> str:
    """Return ``key`` with one slip of a finger in it."""
    index = draw(st.integers(0, len(key) - 2))
    one, two = key[index], key[index + 1]
    wrong = draw(st.sampled_from([one, two + one, one + two + two, f"{one}-{two}", f"{one}{two}s"]))
    return key[:index] + wrong + key[index + 2 :]


def compose(draw: st.DrawFn, data: Data, _full: Data) -> None:
    """Rows of the catalog and members of the unions put together: some pairs go, some do not."""
    overrides = composed({axis: draw(st.sampled_from(values)) for axis, values in AXES.items()})["beamline:overrides"]
    for section, value in overrides.items():
        data[section] = value


def fit(draw: st.DrawFn, data: Data, full: Data) -> None:
    """A value that the schema accepts, in place of another."""
    values = [path for path in _overridable(full) if not isinstance(at_path(full, path), Mapping)]
    path = draw(st.sampled_from([path for path in values if path[-1] != "kind"]))
    schema = at(path, full)
    if schema is not None:
        _put(data, path, draw(fitting(schema)))


def keep(draw: st.DrawFn, data: Data, full: Data) -> None:
    """What the preset says, said again."""
    path = _one(draw, full)
    _put(data, path, copy.deepcopy(at_path(full, path)))


def swap(draw: st.DrawFn, data: Data, full: Data) -> None:
    """Another member of a union, with everything it needs."""
    unions = _unions(full)
    path = draw(st.sampled_from(sorted(unions)))
    kind = draw(st.sampled_from(sorted(unions[path])))
    _put(data, path, draw(fitting(unions[path][kind], whole=True)))


def swap_bare(draw: st.DrawFn, data: Data, full: Data) -> None:
    """Another kind alone, or a kind that does not exist."""
    unions = _unions(full)
    path = draw(st.sampled_from(sorted(unions)))
    kinds = sorted(unions[path])
    _put(data, (*path, "kind"), draw(st.sampled_from([*kinds, misspelt(draw, kinds[0]), "x", "", 5, None])))


def foreign(draw: st.DrawFn, data: Data, full: Data) -> None:
    """A key of a member that was not chosen."""
    unions = {path: kinds for path, kinds in _unions(full).items() if len(kinds) > 1}
    path = draw(st.sampled_from(sorted(unions)))
    keys = {key: field for member in unions[path].values() for key, field in member["properties"].items()}
    key = draw(st.sampled_from(sorted(keys)))
    _put(data, (*path, key), draw(fitting(keys[key])))


def misspell(draw: st.DrawFn, data: Data, full: Data) -> None:
    """A slip in a key, with the value that was meant for it."""
    path = _one(draw, full)
    value = _take(data, path)
    _put(data, (*path[:-1], misspelt(draw, path[-1])), at_path(full, path) if value is None else value)


def drop(draw: st.DrawFn, data: Data, full: Data) -> None:
    """A key left out."""
    _take(data, _one(draw, full))


def lift(draw: st.DrawFn, data: Data, full: Data) -> None:
    """A key one section too high."""
    path = draw(st.sampled_from([path for path in _overridable(full) if len(path) > 1]))
    value = _take(data, path)
    _put(data, (*path[:-2], path[-1]), at_path(full, path) if value is None else value)


def sink(draw: st.DrawFn, data: Data, full: Data) -> None:
    """A key in the section beside it."""
    sections = [path for path in _overridable(full) if isinstance(at_path(full, path), Mapping)]
    section, path = draw(st.sampled_from(sections)), _one(draw, full)
    value = _take(data, path)
    _put(data, (*section, path[-1]), at_path(full, path) if value is None else value)


def retype(draw: st.DrawFn, data: Data, full: Data) -> None:
    """The right value in the wrong type: in quotes, in a list, under a key, as nothing."""
    path = _one(draw, full)
    value = copy.deepcopy(at_path(full, path))
    wrong = [str(value), [value], {path[-1]: value}, {"kind": value}, None, [], {}]
    _put(data, path, draw(st.sampled_from(wrong)))


def limit(draw: st.DrawFn, data: Data, full: Data) -> None:
    """A number nobody has in mind."""
    numbers = [p for p in _overridable(full) if isinstance(at_path(full, p), int | float)]
    _put(data, draw(st.sampled_from(numbers)), draw(st.sampled_from(_LIMITS)))


def trap(draw: st.DrawFn, data: Data, full: Data) -> None:
    """Something that YAML reads as something else."""
    _put(data, _one(draw, full), draw(st.sampled_from(TRAPS)))


def junk(draw: st.DrawFn, data: Data, full: Data) -> None:
    """Anything, anywhere."""
    _put(data, _one(draw, full), draw(ANYTHING))


def stray(draw: st.DrawFn, data: Data, full: Data) -> None:
    """A key that nobody has heard of, in any section."""
    sections = [path for path in _overridable(full) if isinstance(at_path(full, path), Mapping)]
    key = draw(st.sampled_from(["zz", "gpu", "serving.shape", "tensorParallel", "a\x9bb", "<<", "ä", "\u202e"]))
    _put(data, (*draw(st.sampled_from(sections)), key), draw(ANYTHING))


SOUND: tuple[Edit, ...] = (fit, compose, swap, keep)
"""Edits after which a stack may still plan."""
MISTAKES: tuple[Edit, ...] = (
    misspell,
    swap_bare,
    foreign,
    drop,
    lift,
    sink,
    retype,
    limit,
    trap,
    junk,
    stray,
)
"""Edits after which it mostly cannot."""


def edited(draw: st.DrawFn, data: Data, full: Data) -> Data:
    """Return ``data`` after a few edits, more often than not without a mistake among them."""
    mistakes = draw(st.lists(st.sampled_from(MISTAKES), max_size=2)) if draw(st.integers(0, 2)) == 2 else []
    for edit in [*draw(st.lists(st.sampled_from(SOUND), max_size=2)), *mistakes]:
        edit(draw, data, full)
    return data
