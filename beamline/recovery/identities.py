"""Which resource a create was about: its id, from its inputs alone.

A cloud names most things by what was asked for, so a create whose answer was lost can still be looked up. The formats
are data (``identities.yaml``); Kubernetes has one rule for all kinds. A type or an input that is not known gives no id
rather than a guess.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from stacks.yaml_files import read_yaml

__all__ = ["RELEASE", "Identity", "formats", "identify"]

RELEASE = "kubernetes:helm.sh/v3:Release"
"""Pulumi's type of a Helm release; Helm's own ones are not Kubernetes objects."""

_TABLE = Path(__file__).with_name("identities.yaml")
_FIELD = re.compile(r"\{(?P<name>\w+)(?P<last>\|last)?\}")
_FROM_PROVIDER = {"project": ("project",), "region": ("region",), "location": ("region", "zone")}
"""Input to the provider's settings that stand in for it, first one first."""


@dataclass(frozen=True)
class Identity:
    """One resource of a cloud or cluster."""

    id: str
    """As it stands in Pulumi's state."""
    import_id: str
    """As ``pulumi import`` takes it."""


@cache
def formats() -> Mapping[str, Identity]:
    """Return the formats by Pulumi's type, as they stand in the table."""
    rows: dict[str, dict[str, str]] = read_yaml(_TABLE)["resources"]
    return {kind: Identity(row["id"], row.get("import", row["id"])) for kind, row in rows.items()}


def identify(kind: str, inputs: Mapping[str, Any], provider: Mapping[str, Any]) -> Identity | None:
    """Return what the inputs describe; None where the type is not in the table or an input that counts is not known.

    ``provider`` holds the settings of the provider that creates it.
    """
    if kind.startswith("kubernetes:"):
        return _kubernetes(kind, inputs)
    row = formats().get(kind)
    if row is None:
        return None
    try:
        return Identity(_filled(row.id, "/", inputs, provider), _filled(row.import_id, " ", inputs, provider))
    except KeyError:
        return None


def _kubernetes(kind: str, inputs: Mapping[str, Any]) -> Identity | None:
    place = inputs if kind == RELEASE else inputs.get("metadata")
    if not isinstance(place, Mapping) or not isinstance(name := place.get("name"), str):
        return None
    namespace = place.get("namespace")
    found = f"{namespace}/{name}" if isinstance(namespace, str) and namespace else name
    return Identity(found, found)


def _filled(text: str, joint: str, inputs: Mapping[str, Any], provider: Mapping[str, Any]) -> str:
    def value(field: re.Match[str]) -> str:
        name = field["name"]
        if name == "condition":
            condition = inputs.get("condition")
            return joint + _text(condition, "title") if condition else ""
        found = _text(inputs, name) if name in inputs else _default(name, provider)
        return found.rpartition("/")[2] if field["last"] else found

    return _FIELD.sub(value, text)


def _default(name: str, provider: Mapping[str, Any]) -> str:
    for setting in _FROM_PROVIDER.get(name, ()):
        if provider.get(setting):
            return _text(provider, setting)
    raise KeyError(name)


def _text(values: Any, key: str) -> str:
    """Return a plain text; raises KeyError for what is missing, secret or no text."""
    found = values.get(key) if isinstance(values, Mapping) else None
    if not isinstance(found, str):
        raise KeyError(key)
    return found
