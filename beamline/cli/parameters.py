"""Arguments and options that several verbs share, so that they read the same everywhere."""

from __future__ import annotations

from typing import Annotated

import typer

from beamline.cli.completion import complete_stack_or_preset

__all__ = ["AllowReplaceOption", "JsonOption", "SetOption", "StackArgument", "StacksArgument"]

_STACK = "A stack (stacks/Pulumi.<STACK>.yaml), a path to such a file, or a preset."

JsonOption = Annotated[bool, typer.Option("--json", help="Write the result as one JSON document.")]
AllowReplaceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-replace",
        metavar="NAME",
        help="A guarded resource that may be replaced or deleted this time. Repeatable.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a value for this run: a setting (project=...) or a key of the preset (serving.shape.replicas=2). "
        "The value is YAML. Repeatable.",
    ),
]
StackArgument = Annotated[str, typer.Argument(metavar="STACK", help=_STACK, autocompletion=complete_stack_or_preset)]
StacksArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[STACK]...", help=f"{_STACK} Default: all stacks.", autocompletion=complete_stack_or_preset
    ),
]
