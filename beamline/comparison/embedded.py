"""Configuration inside a text: a ConfigMap's file, a flag's JSON value."""

from __future__ import annotations

import json
from typing import Any

import yaml

__all__ = ["parsed"]


def parsed(text: str) -> dict[str, Any] | list[Any] | None:
    """Return the mapping or list that a text holds as JSON or YAML; None for every other text."""
    start = text.lstrip()[:1]
    try:
        if start in ("{", "["):
            found = json.loads(text)
        elif "\n" in text.strip() and ":" in text:
            documents = list(yaml.safe_load_all(text))
            found = documents[0] if len(documents) == 1 else documents
        else:
            return None
    except (ValueError, yaml.YAMLError):
        return None
    return found if isinstance(found, dict | list) else None
