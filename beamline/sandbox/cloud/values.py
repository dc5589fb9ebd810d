"""Pulumi property values as plain Python and back.

The engine keeps track of secrets itself (the provider says it does not take them), so values arrive bare. What is not
known yet, as in a preview, is ``UNKNOWN``.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from google.protobuf import struct_pb2
from pulumi.provider.experimental.property_value import PropertyValue
from pulumi.runtime import rpc

__all__ = ["UNKNOWN", "from_struct", "leaves", "to_struct"]

UNKNOWN: Final[str] = rpc.UNKNOWN
"""Stands for a value that the engine does not know yet; it is what the plugin protocol itself sends."""


def from_struct(struct: struct_pb2.Struct) -> dict[str, Any]:
    """Read a message of the plugin protocol: whole numbers become int, nulls are dropped."""
    return {
        key: value for key, item in PropertyValue.unmarshal_map(struct).items() if (value := _plain(item)) is not None
    }


def to_struct(values: Mapping[str, Any]) -> struct_pb2.Struct:
    """Write a message of the plugin protocol."""
    return PropertyValue.marshal_map({key: _property(value) for key, value in values.items() if value is not None})


def leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield (path, value) of everything that is no map or list, as ``nodeConfig.taints[0].key``."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}[{index}]")
    else:
        yield path, value


def _plain(item: PropertyValue) -> Any:
    value = item.value
    if isinstance(value, Mapping):
        return {key: plain for key, inner in value.items() if (plain := _plain(inner)) is not None}
    if isinstance(value, str | bool) or value is None:
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    raise TypeError(f"the simulated cloud takes no {type(value).__name__}")


def _property(value: Any) -> PropertyValue:
    if isinstance(value, Mapping):
        return PropertyValue({key: _property(item) for key, item in value.items() if item is not None})
    if isinstance(value, list | tuple):
        return PropertyValue([_property(item) for item in value])
    if isinstance(value, int) and not isinstance(value, bool):
        return PropertyValue(float(value))
    return PropertyValue(value)
