"""What the committed JSON Schemas say a preset may hold: its unions, its keys, and the values that fit them.

Sections, kinds and rows are read from ``stacks/schemas``, so a new member of a union or a new row of the catalog is
fuzzed as soon as it exists. The schemas are also the second opinion on which keys nobody knows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from hypothesis import strategies as st

from stacks.json_schemas import SCHEMAS_DIR

__all__ = ["PRESET", "Path", "at", "fitting", "least", "members", "paths", "section_schema", "unknown_keys"]

Path = tuple[str, ...]
Schema = Mapping[str, Any]
_DEFINITIONS: Mapping[str, Schema] = json.loads((SCHEMAS_DIR / "preset.schema.json").read_text())["$defs"]
PRESET = _DEFINITIONS["Preset"]
_USUAL = ("10.64.0.0/20", "10.128.0.0/14", "1.35.9-gke.1100000", "acme", "acme/weights", "a" * 40)
"""Texts that make sense wherever their form is right; those drawn from a pattern alone mostly do not."""
_NAMES = ("main", "green")
"""Of pools: what the shipped presets call theirs, and another."""
_FEW = 64
"""How far above its minimum a number is drawn; its maximum is drawn as well."""
_MOST_ITEMS = 2
"""How many items more than a list needs."""


def _followed(schema: Schema) -> Schema:
    return _DEFINITIONS[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _choices(schema: Schema) -> list[Schema]:
    """The schemas one of which a value must fit, references followed."""
    schema = _followed(schema)
    return [c for one in schema.get("oneOf", schema.get("anyOf", [])) for c in _choices(one)] or [schema]


def members(schema: Schema) -> dict[str, Schema]:
    """Return the members of a section that is chosen by its kind, by kind; empty for any other schema."""
    choices = [c for c in _choices(schema) if "kind" in c.get("properties", {})]
    return {choice["properties"]["kind"]["const"]: choice for choice in choices}


def section_schema(schema: Schema, data: Mapping[str, Any], base: Any) -> Schema | None:
    """Return the schema of a section as ``data`` chooses it, or as ``base`` does where ``data`` names no kind.

    None when no member has that kind.
    """
    kinds = members(schema)
    if not kinds:
        sections = [c for c in _choices(schema) if "properties" in c or "patternProperties" in c]
        return sections[0] if sections else None
    kind = data.get("kind", base.get("kind") if isinstance(base, Mapping) else None)
    return kinds.get(kind) if isinstance(kind, str) else None


def unknown_keys(data: Any, base: Any, schema: Schema = PRESET, above: Path = ()) -> Iterator[Path]:
    """Yield the path of every key of ``data``, laid over ``base``, that the schemas do not have.

    What stands in a section of no known kind is not looked at: nobody can say what it may hold.
    """
    if not isinstance(data, Mapping):
        return
    found = section_schema(schema, data, base)
    if found is None:
        return
    if "patternProperties" in found:
        (line,) = found["patternProperties"].values()
        for key, value in data.items():
            below = base.get(key) if isinstance(base, Mapping) else None
            yield from unknown_keys(value, below, line, (*above, key))
        return
    for key, value in data.items():
        if key not in found["properties"]:
            yield (*above, key)
            continue
        below = base.get(key) if isinstance(base, Mapping) else None
        same_kind = not isinstance(below, Mapping) or "kind" not in data or data["kind"] == base.get("kind")
        yield from unknown_keys(value, below if same_kind else {}, found["properties"][key], (*above, key))


def paths(data: Any, above: Path = ()) -> list[Path]:
    """Return the path of every section and every value of ``data``."""
    if not isinstance(data, Mapping):
        return [above]
    below = [path for key, value in data.items() for path in paths(value, (*above, key))]
    return [above, *below] if above else below


def at(path: Path, data: Mapping[str, Any]) -> Schema | None:
    """Return the schema of what stands at ``path`` of ``data``, None where the schemas have no such key."""
    schema: Schema = PRESET
    place: Any = data
    for key in path:
        section = section_schema(schema, place, {}) if isinstance(place, Mapping) else None
        named = {} if section is None else _named(section, key) | section.get("properties", {})
        if key not in named:
            return None
        schema, place = named[key], place.get(key, {})
    return schema


def _named(section: Schema, name: str) -> dict[str, Schema]:
    """What a section of names of the user's own holds under one that has the right form."""
    lines = [line for form, line in section.get("patternProperties", {}).items() if re.fullmatch(form, name)]
    return {name: lines[0]} if lines else {}


def fitting(schema: Schema, *, whole: bool = False) -> st.SearchStrategy[Any]:
    """Return what ``schema`` accepts: names, kinds, and numbers at and between their limits.

    Sections hold any of their keys, or at least all that are required when they must be ``whole``.
    """
    choices = _choices(schema)
    if len(choices) > 1:
        return st.one_of([fitting(choice, whole=whole) for choice in choices])
    (one,) = choices
    if "const" in one or "enum" in one:
        return st.sampled_from(one.get("enum", [one.get("const")]))
    if one["type"] == "object":
        return _section(one, whole=whole)
    return _VALUES[one["type"]](one)


def _list(schema: Schema) -> st.SearchStrategy[list[Any]]:
    low = schema.get("minItems", 0)
    high = min(schema.get("maxItems", _MOST_ITEMS), low + _MOST_ITEMS)
    return st.lists(fitting(schema["items"], whole=True), min_size=low, max_size=high)


def least(schema: Schema) -> Any:
    """Return the smallest value that ``schema`` accepts: required keys only, first choices, lowest numbers."""
    one = _choices(schema)[0]
    if "const" in one or "enum" in one:
        return one.get("const", one.get("enum", [None])[0])
    if one["type"] == "object":
        return {key: least(one["properties"][key]) for key in one.get("required", [])}
    return _LEAST[one["type"]](one)


def _section(schema: Schema, *, whole: bool) -> st.SearchStrategy[Any]:
    fields = {key: fitting(field, whole=whole) for key, field in schema.get("properties", {}).items()}
    fields |= {name: fitting(line, whole=whole) for name in _NAMES for line in _named(schema, name).values()}
    needed = {key: fields.pop(key) for key in (schema.get("required", []) if whole else ["kind"]) if key in fields}
    return st.fixed_dictionaries(needed, optional=fields)


def _lowest(schema: Schema) -> int:
    return int(schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1))


_SHARES = (0.01, 0.5, 0.9, 0.95, 0.99)


def _within(number: float, schema: Schema) -> bool:
    return schema.get("minimum", number) <= number <= schema.get("maximum", number)


def _number(schema: Schema) -> st.SearchStrategy[Any]:
    low = _lowest(schema)
    high = schema.get("maximum", low + _FEW)
    return st.sampled_from([low, high]) | st.integers(low, min(high, low + _FEW))


def _usual(schema: Schema) -> list[str]:
    return [text for text in _USUAL if re.fullmatch(schema["pattern"], text)]


def _text(schema: Schema) -> st.SearchStrategy[str]:
    if schema.get("format") == "date":
        return st.just("2026-12-01")
    if "pattern" not in schema:
        return st.just("x")
    usual = _usual(schema)
    drawn = st.from_regex(schema["pattern"], fullmatch=True)
    return st.sampled_from(usual) | drawn if usual else drawn


_VALUES: Mapping[str, Any] = {
    "integer": _number,
    "number": lambda schema: st.sampled_from([share for share in _SHARES if _within(share, schema)]),
    "string": _text,
    "boolean": lambda _: st.booleans(),
    "null": lambda _: st.none(),
    "array": _list,
}
_LEAST: Mapping[str, Any] = {
    "integer": _lowest,
    "number": lambda _: 0.5,
    "string": lambda schema: _usual(schema)[0] if "pattern" in schema else "x",
    "boolean": lambda _: False,
    "null": lambda _: None,
    "array": lambda schema: [least(schema["items"])] * schema.get("minItems", 0),
}
