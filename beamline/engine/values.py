"""Property values as plain Python.

Pulumi sends inputs as protobuf structs in which every number is a float and unknown or secret values hide behind
magic strings. Rules, golden files and schema checks want the values a person wrote, so this module gives integers
back and turns the magic into two typed markers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from google.protobuf import struct_pb2
from pulumi.runtime import rpc

__all__ = [
    "UNKNOWN",
    "Secret",
    "Unknown",
    "Value",
    "from_protobuf",
    "from_struct",
    "has_unknown",
    "to_struct",
    "value_to_json",
]


@dataclass(frozen=True)
class Unknown:
    """A value that exists only after the cloud has created something."""


@dataclass(frozen=True)
class Secret:
    """A value the engine encrypts in its state; its text stays out of ``repr`` and of JSON."""

    value: Value = field(repr=False)


UNKNOWN = Unknown()
Value: TypeAlias = "bool | int | float | str | Unknown | Secret | list[Value] | dict[str, Value] | None"


def from_struct(struct: struct_pb2.Struct) -> dict[str, Value]:
    """Decode an input or output map; raises ``NotImplementedError`` for assets and resource references."""
    return {key: from_protobuf(value) for key, value in sorted(struct.fields.items())}


def to_struct(values: Mapping[str, Value]) -> struct_pb2.Struct:
    """Encode an output map as an engine sends it."""
    struct = struct_pb2.Struct()
    struct.update({key: _encoded(value) for key, value in values.items()})
    return struct


def _encoded(value: Value) -> Any:
    if isinstance(value, Unknown):
        return rpc.UNKNOWN
    if isinstance(value, Secret):
        return {rpc._special_sig_key: rpc._special_secret_sig, "value": _encoded(value.value)}  # noqa: SLF001
    if isinstance(value, Mapping):
        return {key: _encoded(item) for key, item in value.items()}
    return [_encoded(item) for item in value] if isinstance(value, list) else value


def from_protobuf(value: struct_pb2.Value) -> Value:
    """Decode one value: unknowns become ``UNKNOWN``, secrets ``Secret``, integral numbers ``int``."""
    kind = value.WhichOneof("kind")
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    if kind == "string_value":
        return UNKNOWN if value.string_value == rpc.UNKNOWN else value.string_value
    if kind == "bool_value":
        return value.bool_value
    if kind == "list_value":
        return [from_protobuf(item) for item in value.list_value.values]
    if kind == "struct_value":
        return _from_struct_value(value.struct_value)
    return None


def _from_struct_value(struct: struct_pb2.Struct) -> Value:
    signature = struct.fields.get(rpc._special_sig_key)  # noqa: SLF001 - the SDK has no public name for the protocol's key
    if signature is None:
        return from_struct(struct)
    if signature.string_value == rpc._special_secret_sig:  # noqa: SLF001
        return Secret(from_protobuf(struct.fields["value"]))
    what = sorted(set(struct.fields) - {rpc._special_sig_key})  # noqa: SLF001
    raise NotImplementedError(
        f"an input carries an asset, an archive or a whole resource (fields {what}); "
        "the in-process engine records plain values only: pass the resource's id or name, or the text itself"
    )


def has_unknown(value: Value) -> bool:
    """Tell whether any part of a value is unknown."""
    if isinstance(value, Secret):
        return has_unknown(value.value)
    if isinstance(value, list):
        return any(has_unknown(item) for item in value)
    if isinstance(value, Mapping):
        return any(has_unknown(item) for item in value.values())
    return isinstance(value, Unknown)


def value_to_json(value: Value) -> object:
    """Return JSON-ready data: unknowns as ``{"$unknown": true}``, secrets as ``{"$secret": true}`` without the text."""
    if isinstance(value, Unknown):
        return {"$unknown": True}
    if isinstance(value, Secret):
        return {"$secret": True}
    if isinstance(value, list):
        return [value_to_json(item) for item in value]
    if isinstance(value, Mapping):
        return {key: value_to_json(item) for key, item in value.items()}
    return value
