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

__all__ = ["HIDDEN", "NAMESPACE", "full_key", "is_secret", "pulumi_config", "secret_keys"]

NAMESPACE = "beamline"
"""The project's name; Pulumi puts it before a key that is written without a namespace."""
HIDDEN = "[secret]"
"""What stands for an encrypted value in a plan, which has no key to read it."""
_GO_ESCAPES = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})
"""Characters that Go's JSON encoder escapes and Python's does not."""
_INT64 = 2**63
_EXACT = 1e21
"""From here on Go writes a float with an exponent."""


def full_key(key: str) -> str:
    """Return a stack file's key with its namespace: ``zone`` and ``beamline:config:zone`` are ``beamline:zone``."""
    namespace, _, name = key.rpartition(":")
    return f"{namespace.removesuffix(':config') or NAMESPACE}:{name}"


def is_secret(value: object) -> bool:
    """Tell whether a value is, or holds, what ``pulumi config set --secret`` writes, or its stand-in in a plan."""
    if isinstance(value, Mapping):
        return _is_encrypted(value) or any(is_secret(item) for item in value.values())
    return value == HIDDEN or (isinstance(value, list) and any(is_secret(item) for item in value))


def _is_encrypted(value: Mapping[str, Any]) -> bool:
    return set(value) == {"secure"}


def pulumi_config(config: Mapping[str, Any]) -> dict[str, str]:
    """Return a stack file's ``config`` section as Pulumi hands it to a program: all text, structures as JSON.

    Encrypted values are replaced by ``HIDDEN``.
    """
    return {full_key(key): _text(value) for key, value in config.items()}


def secret_keys(config: Mapping[str, Any]) -> list[str]:
    """Return the keys that Pulumi tells a program are secret: a structure with one secret inside is one as a whole."""
    return sorted(full_key(key) for key, value in config.items() if is_secret(value))


def _text(value: Any) -> str:
    if value is None:
        return ""
    plain = _plain(value)
    if isinstance(plain, str):
        return plain
    written = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return written.translate(_GO_ESCAPES)


def _plain(value: Any) -> Any:
    """Numbers as Go writes them (3.0 is 3), days and moments as Go writes a time."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(Decimal(repr(value)))  # the shortest digits that mean this float, as Go prints them
    if isinstance(value, dt.datetime):
        return _moment(value)
    if isinstance(value, dt.date):
        return f"{value.isoformat()} 00:00:00 +0000 UTC"
    if isinstance(value, Mapping):
        return HIDDEN if _is_encrypted(value) else {str(key): _inside(item) for key, item in value.items()}
    return [_inside(item) for item in value] if isinstance(value, list) else value


def _inside(value: Any) -> Any:
    """A value inside a structure: there, Pulumi keeps integers beyond int64 as floats."""
    return _plain(float(value) if isinstance(value, int) and value >= _INT64 else value)


def _moment(value: dt.datetime) -> str:
    offset = f"{value:%z}"
    fraction = f".{value.microsecond:06d}".rstrip("0").rstrip(".")
    return f"{value:%Y-%m-%d %H:%M:%S}{fraction} {offset} {'UTC' if offset == '+0000' else offset}"
