"""An Output put into a text shows its warning instead of its value."""

from __future__ import annotations

import json
from collections.abc import Iterator

from beamline.engine.graph import Graph
from policies.objects import plain
from policies.rule import Finding, Rule

__all__ = ["RULES"]

_SIGNS = ("Calling __str__ on an Output[T] is not supported", "<pulumi.output.Output object at")


def _output_text(graph: Graph) -> Iterator[Finding]:
    for resource in graph.resources:
        for key, value in resource.inputs.items():
            text = json.dumps(plain(value))
            if any(sign in text for sign in _SIGNS):
                yield Finding(
                    path=f"{resource.type.rpartition(':')[2]}/{resource.name}.{key}",
                    urn=resource.urn,
                    detail="the text of an Output object stands where its value should",
                )


RULES = (
    Rule(
        id="output-in-text",
        why="the cloud would be given Pulumi's warning as a name or an address",
        remedy="build the text with pulumi.Output.concat, format or json_dumps",
        source="pulumi/pulumi#4650",
        find=_output_text,
    ),
)
