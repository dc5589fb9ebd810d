"""Stack configuration as the engine hands it to a program.

In the stack file ``beamline:nodes: 2`` is a number; a program always receives text. The rules here are those of
pulumi 3.274 (tests/engine/test_config.py asks the real command line).
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping

__all__ = ["HIDDEN", "program_config"]

HIDDEN = "[secret]"  # what stands for a value that is encrypted in the stack file: a plan has no passphrase
# Go's JSON encoder escapes these, Python's does not.
_GO_ESCAPES = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})


def program_config(values: Mapping[str, object]) -> tuple[dict[str, str], list[str]]:
    """Return the text of every key, and the keys that are secret.

    ``values`` is the ``config:`` section of a stack file, keys with their namespace. Structured values become JSON.
    """
    secret_keys = sorted(key for key, value in values.items() if _has_secret(value))
    return {key: _text(_without_secrets(value)) for key, value in values.items()}, secret_keys


def _is_secret(value: object) -> bool:
    return isinstance(value, Mapping) and set(value) == {"secure"}


def _has_secret(value: object) -> bool:
    if isinstance(value, Mapping):
        return _is_secret(value) or any(_has_secret(item) for item in value.values())
    return isinstance(value, list) and any(_has_secret(item) for item in value)


def _without_secrets(value: object) -> object:
    if _is_secret(value):
        return HIDDEN
    if isinstance(value, Mapping):
        return {key: _without_secrets(item) for key, item in value.items()}
    return [_without_secrets(item) for item in value] if isinstance(value, list) else value


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping | list):
        plain = json.dumps(_go_scalars(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return plain.translate(_GO_ESCAPES)
    return str(_go_scalars(value))


def _go_scalars(value: object) -> object:
    """Write 2.0 as 2 and a date as a moment, as Go does."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dt.date):
        return f"{value:%Y-%m-%d %H:%M:%S} +0000 UTC"
    if isinstance(value, Mapping):
        return {str(key): _go_scalars(item) for key, item in value.items()}
    return [_go_scalars(item) for item in value] if isinstance(value, list) else value
