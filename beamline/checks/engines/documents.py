"""JSON in a command line, against the documents that an engine reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stacks.rows.engine_flags import Document, Key
from stacks.typing_problems import nearest

__all__ = ["Fault", "document_faults"]

_FITS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "switch": (lambda value: isinstance(value, bool), "true or false"),
    "integer": (lambda value: isinstance(value, int) and not isinstance(value, bool), "a whole number"),
    "number": (lambda value: isinstance(value, int | float) and not isinstance(value, bool), "a number"),
    "text": (lambda value: isinstance(value, str), "text"),
    "object": (lambda value: isinstance(value, dict), "an object"),
    "list": (lambda value: isinstance(value, list), "a list"),
    "any": (lambda value: True, "anything"),  # noqa: ARG005 - the others ask
}


@dataclass(frozen=True)
class Fault:
    """What is wrong in a document: where, what stands there, why, and what may."""

    path: str
    value: object
    why: str
    allowed: str
    remedy: str


def document_faults(text: str, name: str, documents: Mapping[str, Document]) -> Iterator[Fault]:
    """Yield every fault of a document written as JSON."""
    try:
        data = json.loads(text)
    except ValueError as error:
        yield Fault("", text, f"this is no JSON: {error}", "a JSON object", "correct the text")
        return
    yield from _faults(data, name, documents, "")


def _faults(data: Any, name: str, documents: Mapping[str, Document], path: str) -> Iterator[Fault]:
    if not isinstance(data, dict):
        yield Fault(path, data, "an object belongs here", "an object", "write an object")
        return
    keys, open_keys = _keys(documents[name], documents, data)
    choice = documents[name].choice
    for key, value in data.items():
        at = f"{path}.{key}"
        if key not in keys:
            if not open_keys:
                yield _unknown(at, key, keys)
            continue
        yield from _value_faults(value, keys[key], documents, at)
        if choice is not None and key == choice.inside:
            further = choice.documents.get(str(data.get(choice.by, choice.default)))
            if further is not None:
                yield from _faults(value, further, documents, at)


def _keys(
    document: Document, documents: Mapping[str, Document], data: Mapping[str, Any]
) -> tuple[dict[str, Key], bool]:
    """Return the keys of an object, and whether others may be there: where its shape is one that nobody described."""
    keys = dict(document.keys)
    choice = document.choice
    if choice is None or choice.inside is not None:
        return keys, False
    further = choice.documents.get(str(data.get(choice.by, choice.default)))
    return ({**keys, **documents[further].keys}, False) if further else (keys, True)


def _value_faults(value: Any, key: Key, documents: Mapping[str, Document], path: str) -> Iterator[Fault]:
    fits, words = _FITS[key.kind]
    if value is not None and not fits(value):
        yield Fault(path, value, f"{words} belongs here", words, f"write {words}")
    elif key.choices and isinstance(value, str) and value not in key.choices:
        yield _choice(path, value, key.choices)
    elif key.document is not None:
        items = value if isinstance(value, list) else [value]
        for number, item in enumerate(items):
            yield from _faults(item, key.document, documents, f"{path}[{number}]" if isinstance(value, list) else path)


def _choice(path: str, value: str, choices: list[str]) -> Fault:
    guess = nearest(value, choices)
    why = f"{value!r} is none of the words that belong here" + (f"; did you mean {guess!r}?" if guess else "")
    return Fault(path, value, why, ", ".join(choices), f"write {guess!r}" if guess else "write one of them")


def _unknown(path: str, key: str, keys: Mapping[str, Key]) -> Fault:
    guess = nearest(key, keys)
    why = "the engine reads no such key, and may ignore it in silence" + (f"; did you mean {guess!r}?" if guess else "")
    remedy = f"rename it to {guess!r}" if guess else "take it out"
    return Fault(path, None, why, ", ".join(sorted(keys)), remedy)
