"""What holds for every planned stack, as data: which resources, which path in them, which value.

An invariant that no resource is about proves nothing, so it is broken too; and each one is tried on stacks in which
just that was changed (``notices``), where it has to be found broken. What may not be there at all is tried with a
sample of it, which the row writes out as somebody else would.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from beamline.engine import Graph
from policies.objects import plain

__all__ = ["Documents", "broken", "documents", "notices"]

Documents = list[dict[str, Any]]
"""One stack: resources and pods, each with its type under ``$type``."""
_ANY = "*"
_ABSENT = object()


def documents(graph: Graph) -> Documents:
    """Return a stack's resources as plain data, its pods beside them; options stand under ``$``."""
    found: Documents = []
    parents = [resource.parent for resource in graph.resources]
    for resource in graph.resources:
        inputs = {key: plain(value) for key, value in resource.inputs.items()}
        options: dict[str, Any] = {
            "$type": resource.type,
            "$protect": resource.protect,
            "$timeouts": dict(resource.custom_timeouts),
            "$ignore": list(resource.ignore_changes),
            "$children": parents.count(resource.urn),
        }
        found.append({**inputs, **{key: value for key, value in options.items() if value not in (None, False)}})
        found += [{**pod, "$type": "pod"} for pod in _pods(inputs)]
    return found


def _pods(data: Any) -> Iterator[dict[str, Any]]:
    if isinstance(data, dict):
        if isinstance(data.get("containers"), list):
            yield data
        for value in data.values():
            yield from _pods(value)
    elif isinstance(data, list):
        for item in data:
            yield from _pods(item)


def broken(invariant: Mapping[str, Any], stacks: Mapping[str, Documents]) -> list[str]:
    """Return the stacks in which an invariant does not hold, with why; it has to be about something in one of them."""
    said, about = [], 0
    for name, stack in stacks.items():
        count, wrong = _judged(invariant, stack)
        about += count
        said += [f"{name}: {why}" for why in wrong]
    return said if about else ["no resource of any stack is what this is about"]


def notices(invariant: Mapping[str, Any], stacks: Mapping[str, Documents]) -> bool:
    """Tell whether an invariant is broken in some stack in which just what it is about was changed."""
    return any(_judged(invariant, _damaged(invariant, stack))[1] for stack in stacks.values())


def _judged(invariant: Mapping[str, Any], stack: Documents) -> tuple[int, list[str]]:
    """How many resources an invariant is about, and what is wrong with them."""
    if "never" in invariant:
        return 1, [f"there is {each['$type']}" for each in _selected(invariant["never"], stack)]
    if "text_never" in invariant:
        return 1, [each["$type"] for each in stack if invariant["text_never"] in repr(each)]
    if "given" in invariant:
        given = _selected(invariant["given"], stack)
        missing = bool(given) and not _selected(invariant["there_is"], stack)
        return len(given), [f"there is no {invariant['there_is']}"] if missing else []
    chosen = _selected(invariant, stack)
    if "alike" in invariant:
        return _unlike(invariant, chosen)
    wrong = [each for each in chosen if not _holds(invariant, _values(each, _steps(invariant["path"])))]
    return len(chosen), [f"{each['$type']}: {invariant['path']}" for each in wrong]


def _unlike(invariant: Mapping[str, Any], chosen: Documents) -> tuple[int, list[str]]:
    """Those that differ from the first in what is not left out; one alone is like itself, which says nothing."""
    left_out = "|".join(invariant["alike"])
    found = [
        [value for value in _values(each, _steps(invariant["path"])) if not re.fullmatch(left_out, str(value))]
        for each in chosen
    ]
    wrong = [each["$type"] for each, values in zip(chosen, found, strict=True) if values != found[0] or not values]
    return len(chosen) if len(chosen) > 1 else 0, [f"{name}: {invariant['path']}" for name in wrong]


def _selected(wanted: Mapping[str, Any], stack: Documents) -> Documents:
    return [each for each in stack if fnmatchcase(each["$type"], wanted["of"]) and _matches(wanted, each)]


def _matches(wanted: Mapping[str, Any], document: Mapping[str, Any]) -> bool:
    return all(
        _is_there(_values(document, _steps(path)), value) for path, value in wanted.get("when", {}).items()
    ) and all(
        any(re.fullmatch(pattern, value) for value in _values(document, _steps(path)))
        for path, pattern in wanted.get("matching", {}).items()
    )


def _is_there(values: Sequence[Any], wanted: Any) -> bool:
    """A list is there as it is, or each of its items is."""
    if wanted == _ANY:
        return bool(values)
    return wanted in values or (isinstance(wanted, list) and all(item in values for item in wanted))


def _steps(path: str) -> list[str]:
    """A path in parts; a tilde stands for a dot inside a key."""
    return [part.replace("~", ".") for part in path.split(".")]


def _values(data: Any, steps: Sequence[str]) -> list[Any]:
    if not steps:
        return [data]
    first, rest = steps[0], steps[1:]
    if first == _ANY:
        items = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
        return [value for item in items for value in _values(item, rest)]
    if isinstance(data, Mapping) and first in data:
        return _values(data[first], rest)
    return []


def _holds(invariant: Mapping[str, Any], values: list[Any]) -> bool:
    if "absent" in invariant:
        return values == []
    tests = {
        "present": lambda _, value: value is not None,
        "equals": lambda wanted, value: value == wanted,
        "at_least": lambda wanted, value: value >= wanted,
        "length": lambda wanted, value: len(value) == wanted,
        "matches": lambda wanted, value: re.fullmatch(wanted, value) is not None,
        "some": lambda wanted, value: re.fullmatch(wanted, value) is not None,
        "none": lambda wanted, value: re.fullmatch(wanted[0], value) is None,
        "contains": lambda wanted, value: any(_has(item, wanted) for item in value),
        "keys": lambda wanted, value: not isinstance(value, dict) or all(re.fullmatch(wanted, key) for key in value),
    }
    ((wanted, holds),) = [(invariant[word], test) for word, test in tests.items() if word in invariant]
    quantifier = any if {"contains", "some"} & invariant.keys() else all
    return values != [] and quantifier(holds(wanted, value) for value in values)


def _has(item: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        return isinstance(item, Mapping) and all(item.get(key) == value for key, value in wanted.items())
    return bool(item == wanted)


def _damaged(invariant: Mapping[str, Any], stack: Documents) -> Documents:
    """Return the stack with just that changed which the invariant is about."""
    stack = copy.deepcopy(stack)
    if "sample" in invariant:
        return [*stack, invariant["sample"]]
    if "broken_by" in invariant:
        about = _selected(invariant.get("there_is", invariant), stack)
        return [_rewritten(each, *invariant["broken_by"]) if each in about else each for each in stack]
    if "given" in invariant:
        gone = _selected(invariant["there_is"], stack)
        return [each for each in stack if not any(each is other for other in gone)]
    value = {"keys": {"snake_case": 1}, "matches": "node_config", "absent": True}
    change = next((value[word] for word in value if word in invariant), _ABSENT)
    chosen = _selected(invariant, stack)
    if "alike" in invariant:
        for each in chosen[:1]:
            _append(each, _steps(invariant["path"]), "--node-config")
        return stack
    for each in chosen:
        if "some" in invariant:  # just those that match: the others may be what the resource was chosen by
            _replace(each, _steps(invariant["path"]), invariant["some"])
        elif "none" in invariant:
            _append(each, _steps(invariant["path"]), invariant["none"][1])
        else:
            _set(each, _steps(invariant["path"]), change)
    return stack


def _rewritten(data: Any, old: str, new: str) -> Any:
    """Return ``data`` with another text in all of its texts."""
    if isinstance(data, dict):
        return {key: _rewritten(value, old, new) for key, value in data.items()}
    if isinstance(data, list):
        return [_rewritten(item, old, new) for item in data]
    return data.replace(old, new) if isinstance(data, str) else data


def _ends(data: Any, steps: Sequence[str]) -> list[Any]:
    """The lists or mappings that hold a path's values."""
    return [found for found in _values(data, steps[:-1]) if isinstance(found, list | dict)]


def _replace(data: Any, steps: Sequence[str], pattern: str) -> None:
    """Take every value at a path that matches out of its list, or change it."""
    for holder in _ends(data, steps):
        keys = range(len(holder)) if isinstance(holder, list) else [key for key in holder if key == steps[-1]]
        for key in keys:
            if isinstance(holder[key], str) and re.fullmatch(pattern, holder[key]):
                holder[key] = "node_config"


def _append(data: Any, steps: Sequence[str], value: str) -> None:
    """Add a value to every list at a path, or put it in place of a single key's."""
    for holder in _ends(data, steps):
        if isinstance(holder, list):
            holder.append(value)
        else:
            holder[steps[-1]] = value


def _set(data: Any, steps: Sequence[str], value: Any) -> None:
    """Put ``value`` at every end of a path, which is made where it is missing; or take what is there away."""
    first, rest = steps[0], steps[1:]
    everything = list(data) if isinstance(data, dict) else list(range(len(data)))
    for key in everything if first == _ANY else [first]:
        if rest:
            if isinstance(data, dict) and key not in data:
                if value is _ABSENT:
                    continue
                data[key] = {}
            _set(data[key], rest, value)
        elif value is not _ABSENT:
            data[key] = value
        elif isinstance(data, dict):
            data.pop(key, None)
