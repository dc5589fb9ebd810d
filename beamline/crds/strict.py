"""Judge one custom resource by its schema without a server, as strict field validation would.

Unknown fields, missing fields, types, enums, patterns, ranges and duplicate list keys are checked. The rules written in
CEL (``x-kubernetes-validations``) need Kubernetes' own evaluator: only the API server of the sandbox judges those. A
few things are stricter than a server on purpose, because a server takes them silently: a number beyond int32, null, and
what a manifest has no business to say of its metadata.
"""

import difflib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError

from beamline.crds.definitions import find
from stacks.problems import Problem

__all__ = ["problems"]

_INT32 = 2**31
_FORMATS = FormatChecker(["ipv4", "ipv6"])
_DURATION = re.compile(r"^[-+]?(0|(\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))+$")
_TIMESTAMP = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[-+]\d\d:\d\d)$")
_NAME = {"type": "string", "maxLength": 253, "pattern": r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"}
_LABEL_KEY = r"^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$"
_LABEL = {"type": "string", "maxLength": 63, "pattern": r"^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$"}
_METADATA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": _NAME,
        "generateName": {"type": "string", "maxLength": 253},
        "namespace": {**_NAME, "maxLength": 63},
        "labels": {"type": "object", "propertyNames": {"pattern": _LABEL_KEY}, "additionalProperties": _LABEL},
        "annotations": {
            "type": "object",
            "propertyNames": {"pattern": _LABEL_KEY},
            "additionalProperties": {"type": "string"},
        },
        "finalizers": {"type": "array", "items": {"type": "string"}},
    },
    "additionalProperties": False,
}
"""What a manifest may say of an object; a schema of a custom resource leaves it to the server."""


@_FORMATS.checks("duration")
def _is_duration(value: object) -> bool:
    return not isinstance(value, str) or bool(_DURATION.match(value))


@_FORMATS.checks("date-time")
def _is_timestamp(value: object) -> bool:
    return not isinstance(value, str) or bool(_TIMESTAMP.match(value))


def problems(manifest: Mapping[str, Any]) -> list[Problem]:
    """Return what is wrong with a custom resource; empty when it is right or when no schema here knows the kind."""
    api_version, kind = str(manifest.get("apiVersion", "")), str(manifest.get("kind", ""))
    definition = find(api_version, kind)
    if definition is None:
        return []
    version = api_version.rpartition("/")[2]
    name = f"{kind}/{manifest.get('metadata', {}).get('name', '?')}"
    source = f"schema of {definition.name} {version}"
    schema = definition.schema(version) or {}
    filled = _filled(schema, manifest)
    found = sorted(_validator(api_version, kind).iter_errors(filled), key=lambda e: e.json_path)
    named = [_problem(name, error, source) for error in found]
    named += [
        Problem("crd-schema", f"{name}.{path}", f"the key {key} stands there twice", "Remove one.", key, source=source)
        for path, key in _duplicates(schema, filled, "")
    ]
    return named


@cache
def _validator(api_version: str, kind: str) -> Draft202012Validator:
    definition = find(api_version, kind)
    schema = (definition and definition.schema(api_version.rpartition("/")[2])) or {}
    return Draft202012Validator(_closed(schema, top=True), format_checker=_FORMATS)


def _filled(schema: Mapping[str, Any], value: Any) -> Any:
    """Return the value with the schema's defaults filled in, as a server does before it judges."""
    if isinstance(value, Mapping):
        known = schema.get("properties", {})
        filled = {key: _filled(known.get(key, {}), child) for key, child in value.items()}
        missing = {key: inner["default"] for key, inner in known.items() if "default" in inner and key not in value}
        return filled | {key: _filled(known[key], default) for key, default in missing.items()}
    if isinstance(value, list):
        return [_filled(schema.get("items", {}), entry) for entry in value]
    return value


def _closed(schema: Mapping[str, Any], *, top: bool = False) -> dict[str, Any]:
    """Turn a structural schema into JSON Schema that refuses unknown fields, and null."""
    out = {k: v for k, v in schema.items() if not k.startswith("x-kubernetes-") and k not in ("default", "description")}
    if schema.get("x-kubernetes-int-or-string"):
        out["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    if schema.get("format") == "int32":
        out.setdefault("minimum", -_INT32)
        out.setdefault("maximum", _INT32 - 1)
    if "properties" in schema:
        out["properties"] = {key: _closed(value) for key, value in schema["properties"].items()}
        out["additionalProperties"] = False
    if isinstance(schema.get("additionalProperties"), Mapping):
        out["additionalProperties"] = _closed(schema["additionalProperties"])
    if "items" in schema:
        out["items"] = _closed(schema["items"])
    if top:
        out["properties"]["metadata"] = _METADATA
        out["required"] = sorted({*out.get("required", []), "apiVersion", "kind", "metadata"})
    return out


def _problem(name: str, error: ValidationError, source: str) -> Problem:
    path = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error.absolute_path)
    if error.validator == "additionalProperties" and isinstance(error.schema, Mapping):
        known = sorted(error.schema.get("properties", {}))
        given = error.instance if isinstance(error.instance, Mapping) else {}
        unknown = sorted(set(given) - set(known))
        near = difflib.get_close_matches(unknown[0], known, n=1)
        return Problem(
            rule="crd-schema",
            path=f"{name}{path}.{unknown[0]}",
            why=f"unknown field: {', '.join(unknown)}",
            allowed=", ".join(known),
            remedy=f"Did you mean {near[0]}?" if near else "Remove it, or write the field's right name.",
            source=source,
        )
    value = error.instance if isinstance(error.instance, str | int | float | bool) else None
    return Problem("crd-schema", f"{name}{path}", error.message, "Write what the schema allows.", value, source=source)


def _duplicates(schema: Mapping[str, Any], value: object, path: str) -> Iterator[tuple[str, str]]:
    """Yield the lists in which two entries share their key, as the API server would refuse them."""
    if isinstance(value, Mapping):
        for key, child in value.items():
            inner = schema.get("properties", {}).get(key)
            if isinstance(inner, Mapping):
                yield from _duplicates(inner, child, f"{path}.{key}" if path else str(key))
    if not isinstance(value, list):
        return
    if schema.get("x-kubernetes-list-type") in ("map", "set"):
        fields = schema.get("x-kubernetes-list-map-keys", [])
        keys = [", ".join(str(e.get(f)) for f in fields) if isinstance(e, Mapping) else str(e) for e in value]
        for key in sorted({k for k in keys if keys.count(k) > 1}):
            yield path, key
    for index, entry in enumerate(value):
        yield from _duplicates(schema.get("items", {}), entry, f"{path}[{index}]")
