"""What Pulumi makes of a stack file's values: a program receives every one of them as text.

``beamline plan`` reads the stack file itself, ``pulumi up`` hands the values over; both must see the same, or they
would say different things. The rules are those of pulumi 3.274, measured; tests/stacks/test_pulumi_values.py asks the
real command line again.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

__all__ = ["HIDDEN", "NAMESPACE", "full_key", "is_secret", "pulumi_config"]

NAMESPACE = "beamline"
"""The project's name; Pulumi puts it before a key that is written without a namespace."""
HIDDEN = "[secret]"
"""What stands for an encrypted value in a plan."""
_INT64 = 2**63
_EXACT = 1e21
"""From here on Go writes a float with an exponent."""


def full_key(key: str) -> str:
    """Return a stack file's key with its namespace: ``zone`` and ``beamline:config:zone`` are ``beamline:zone``."""
    namespace, _, name = key.rpartition(":")
    return f"{namespace.removesuffix(':config') or NAMESPACE}:{name}"


def is_secret(value: object) -> bool:
    """Tell whether a value is, or holds, what ``pulumi config set --secret`` writes; plan has no key to read it."""
    if isinstance(value, Mapping):
        return set(value) == {"secure"} or any(is_secret(item) for item in value.values())
    return value == HIDDEN or (isinstance(value, list) and any(is_secret(item) for item in value))


def pulumi_config(config: Mapping[str, Any]) -> dict[str, str]:
    """Return a stack file's ``config`` section as Pulumi hands it to a program: all text, structures as JSON."""
    return {full_key(key): _text(value) for key, value in config.items()}


def _text(value: Any) -> str:
    if value is None:
        return ""
    plain = _plain(value)
    if isinstance(plain, str):
        return plain
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Numbers as Go writes them (3.0 is 3), days as Go writes a time."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(Decimal(repr(value)))  # the shortest digits that mean this float, as Go prints them
    if isinstance(value, dt.date):
        return f"{value.isoformat()} 00:00:00 +0000 UTC"
    if isinstance(value, Mapping):
        return {str(key): _inside(item) for key, item in value.items()}
    return [_inside(item) for item in value] if isinstance(value, list) else value


def _inside(value: Any) -> Any:
    """A value inside a structure: there, Pulumi keeps integers beyond int64 as floats."""
    return _plain(float(value) if isinstance(value, int) and value >= _INT64 else value)
