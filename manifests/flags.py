"""Writing flags: one element each, so that a line of YAML is a whole setting and nothing depends on quoting.

JSON values have sorted keys: the same intent always gives the same bytes, and so no needless rollout.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["flags"]


def flags(settings: Mapping[str, Any]) -> list[str]:
    """Return ``--name=value`` for each setting; ``True`` is a switch, ``None`` and ``False`` are left out."""
    return [_flag(name, value) for name, value in settings.items() if value is not None and value is not False]


def _flag(name: str, value: Any) -> str:
    if value is True:
        return f"--{name}"
    if isinstance(value, dict):
        value = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return f"--{name}={value}"
