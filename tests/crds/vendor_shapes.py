"""Custom resources of every shipped preset and of every case, by what a vendor's definition can tell apart of them.

A definition judges fields, types, and texts that it knows words or forms of. It does not read what a container is
started with, nor the values of its variables, nor how much a quantity is: those are left out of a shape, so that a
verdict outlives a flag, an image and a size.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from beamline import crds
from manifests import render
from stacks.resolve import StackSpec
from tests.manifests.cases import EVERY, RESERVATION, resolved, spec_of
from tests.shipped import SHIPPED, accepted

__all__ = ["Body", "Key", "bodies", "key_of", "shape"]

Body = Mapping[str, Any]
Key = tuple[str, str]
"""API version and kind, as ``v1 Pod``; sha256 of the shape."""
_TEXTS = {
    "containers": ("args", "command", "image"),
    "initContainers": ("args", "command", "image"),
    "env": ("value",),
}
"""List -> keys of its items whose texts no definition looks into."""
_ANY_TEXT = "text"
_QUANTITY = re.compile(r"\d+(\.\d+)?(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE])?")


def shape(value: Any) -> Any:
    """Return an object without the texts that no definition looks into; whatever is no text there, stays."""
    if isinstance(value, list):
        return [shape(item) for item in value]
    if isinstance(value, str):
        return "quantity" if _QUANTITY.fullmatch(value) else value
    if not isinstance(value, Mapping):
        return value
    found = {key: shape(inner) for key, inner in value.items()}
    for name, keys in _TEXTS.items():
        items = found.get(name)
        if isinstance(items, list):
            found[name] = [{**each, **{k: _text(each[k]) for k in keys if k in each}} for each in items]
    if isinstance(found.get("configMap"), dict) and "name" in found["configMap"]:  # the name ends in its content's hash
        found["configMap"]["name"] = _text(found["configMap"]["name"])
    if isinstance(found.get("annotations"), dict):
        found["annotations"] = {key: _text(text) for key, text in found["annotations"].items()}
    return found


def _text(value: Any) -> Any:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return [_ANY_TEXT]
    return _ANY_TEXT if isinstance(value, str) else value


def key_of(body: Body) -> Key:
    """Return what a verdict on an object is kept under."""
    text = json.dumps(shape(body), sort_keys=True)
    return f"{body['apiVersion']} {body['kind']}", hashlib.sha256(text.encode()).hexdigest()


@cache
def bodies() -> Mapping[Key, Mapping[str, tuple[Body, ...]]]:
    """Return, by key, the stacks that have such an object, presets first, each with those it has."""
    found: dict[Key, dict[str, tuple[Body, ...]]] = {}
    for name, spec in _specs():
        for body in (item.body for item in render(spec)):
            if crds.find(body["apiVersion"], body["kind"]) is not None:
                stacks = found.setdefault(key_of(body), {})
                stacks[name] = (*stacks.get(name, ()), body)
    return found


def _specs() -> Iterator[tuple[str, StackSpec]]:
    for preset in SHIPPED:
        where = {"reservation": RESERVATION} if preset.startswith("a4x") else {}
        yield preset, resolved(preset, {}, accepted(preset), **where)
    yield from ((case, spec_of(case)) for case in EVERY if case not in SHIPPED)
