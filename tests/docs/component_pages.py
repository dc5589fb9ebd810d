"""docs/components.md: every component with its arguments and outputs, read from the classes themselves."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from pulumi.provider.experimental.analyzer import Analyzer, ComponentDefinition, PropertyDefinition, TypeDefinition

from beamline.sandbox.home import CHECKOUT
from tests.components.goldens import BLOCKS

__all__ = ["COMPONENTS", "components_page"]

COMPONENTS = CHECKOUT / "docs" / "components.md"
FOREIGN_PROGRAM = CHECKOUT / "tests" / "components" / "foreign_program" / "__main__.py"
_INTRODUCTION = """\
# Components

Generated from the classes in `components/` by `make golden`. A stack is composed of these by
`components.stack.InferenceStack`; each can also be used by itself, in a Pulumi program of your own.

- Arguments are a dict (a `TypedDict`, so a type checker knows it). *Input* says that the value may be another
  resource's output; everything else is plain, because it decides which resources exist or what they are called.
- Names say their unit: `_gb` are gigabytes as Google counts disks, `_s` seconds, `_2mi` pieces of 2 MiB. A number
  without one is a count, or its meaning names the unit.
- Outputs are attributes. `ExistingNetwork` has those of `Network`, and `ExistingCluster` those of `Cluster`: whatever
  takes the one takes the other.
- Options go to the component: `providers`, `depends_on`, `parent`. Its children find their providers through it.
- Other languages get the same blocks from Pulumi's component provider: names in camel case, texts as below
  (`tests/components/golden/schema.json` is that schema).
"""
_OF_YOUR_OWN = """\
## In a program of your own

A team's cluster and bucket, with a GPU pool and a serving part from here. A test applies exactly this program
(`tests/components/test_real_programs.py`): real engine, real Kubernetes API, simulated Google Cloud and nodes.
"""
_TYPES = {"string": "str", "integer": "int", "boolean": "bool", "number": "float"}
_ANY = "pulumi.json#/Any"


def components_page() -> str:
    """Return docs/components.md."""
    found = Analyzer("beamline").analyze(list(BLOCKS))
    definitions, types = found["component_definitions"], found["type_definitions"]
    parts = [_component(block, definitions[block.__name__]) for block in BLOCKS]
    program = f"```python\n{FOREIGN_PROGRAM.read_text()}```\n"
    return "\n".join([_INTRODUCTION, *parts, _types(types), _OF_YOUR_OWN, program])


def _component(block: type, definition: ComponentDefinition) -> str:
    """One section: what the block is and why it is so, how it is imported, what goes in and what comes out."""
    module = inspect.getmodule(block)
    assert module is not None
    file = f"{module.__name__.replace('.', '/')}.py"
    arguments = f"{block.__name__}Args"
    lines = [
        f"## {block.__name__}",
        "",
        inspect.getdoc(block) or "",
        "",
        f"`from {module.__name__} import {block.__name__}`; why it is made this way: [{file}](../{file}).",
        "",
        *_table("Argument", _in_python(definition.inputs, getattr(module, arguments).__annotations__)),
    ]
    if definition.outputs:
        lines += ["", *_table("Output", _in_python(definition.outputs, block.__annotations__), outputs=True)]
    return "\n".join([*lines, ""])


def _types(types: Mapping[str, TypeDefinition]) -> str:
    lines = ["## Types of arguments", ""]
    for name in sorted(types):
        definition = types[name]
        properties = {_snake(key): value for key, value in definition.properties.items()}
        lines += [f"### {name}", "", definition.description or "", "", *_table("Key", properties), ""]
    return "\n".join(lines)


def _in_python(properties: Mapping[str, PropertyDefinition], names: Iterable[str]) -> dict[str, PropertyDefinition]:
    """Properties by the names that Python has for them, in the order of the class."""
    by_name = {_snake(key): value for key, value in properties.items()}
    return {name: by_name[name] for name in names}


def _snake(name: str) -> str:
    """``bootDiskGb`` -> ``boot_disk_gb``; a number starts a word too: ``hugepages2mi`` -> ``hugepages_2mi``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z0-9])", "_", name).lower()


def _table(what: str, properties: Mapping[str, PropertyDefinition], *, outputs: bool = False) -> list[str]:
    rows = [
        f"| `{name}` | {_type(value, outputs=outputs)} | {_text(value.description)} |"
        for name, value in properties.items()
    ]
    return [f"| {what} | Type | Meaning |", "|---|---|---|", *rows]


def _type(value: PropertyDefinition, *, outputs: bool) -> str:
    text = f"`{_plain_type(value)}`"
    if outputs:
        return text
    words = ([] if value.plain else ["input"]) + (["optional"] if value.optional else [])
    return f"{text}, {', '.join(words)}" if words else text


def _plain_type(value: PropertyDefinition) -> str:
    if value.ref:
        return "Any" if value.ref == _ANY else value.ref.rpartition("/")[2].rpartition(":")[2]
    if value.items:
        return f"list[{_plain_type(value.items)}]"
    if value.additional_properties:
        return f"dict[str, {_plain_type(value.additional_properties)}]"
    kind: Any = value.type
    return _TYPES[kind.value if hasattr(kind, "value") else str(kind)]


def _text(description: str | None) -> str:
    return " ".join(textwrap.dedent(description or "").split()).replace("|", "\\|")
