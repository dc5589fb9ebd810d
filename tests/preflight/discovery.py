"""Google's own descriptions of its APIs, from the client library: what a request and an answer may look like."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from googleapiclient.discovery_cache import get_static_doc

APIS = {
    "artifactregistry": ("v1",),
    "cloudkms": ("v1",),
    "cloudresourcemanager": ("v3",),
    "compute": ("v1", "beta"),
    "container": ("v1",),
    "monitoring": ("v3",),
    "secretmanager": ("v1",),
    "serviceusage": ("v1", "v1beta1"),
    "storage": ("v1",),
}


@cache
def documents() -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(get_static_doc(api, version)) for api, versions in APIS.items() for version in versions)


def methods(resource: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from resource.get("methods", {}).values()
    for inner in resource.get("resources", {}).values():
        yield from methods(inner)


def unknown_keys(document: Mapping[str, Any], schema: Mapping[str, Any], value: Any, at: str = "") -> Iterator[str]:
    """Yield what of an answer Google's schema does not have, and values of another kind."""
    if "$ref" in schema:
        schema = document["schemas"][schema["$ref"]]
    kind = schema.get("type")
    kinds = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict}
    if kind in kinds and not isinstance(value, kinds[kind]):
        yield f"{at} is no {kind}: {value!r}"
    elif "enum" in schema and value not in schema["enum"] and schema["enum"][0] not in METRICS:
        yield f"{at} is none of the known: {value!r}"
    elif kind == "array":
        for index, item in enumerate(value):
            yield from unknown_keys(document, schema["items"], item, f"{at}[{index}]")
    elif kind == "object":
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        for key, item in value.items():
            inner = known.get(key) or others
            if inner is None:
                yield f"{at}.{key} is not in Google's schema"
            elif inner.get("type") != "any":
                yield from unknown_keys(document, inner, item, f"{at}.{key}")


METRICS = ("A2_CPUS",)
"""The list of quota metrics in Google's description stopped growing; newer ones are answered all the same."""
