"""`beamline fork`: a preset and a stack of one's own, from a preset, for other hardware if asked."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import RenderableType

from beamline.cli.completion import complete_hardware, complete_preset
from beamline.cli.endings import end_with, problems_as_result
from beamline.cli.new_files import write_all
from beamline.cli.output import heading, said, show, show_json, table
from beamline.cli.parameters import JsonOption
from beamline.cli.stack_text import counted
from stacks import to_text
from stacks.forking import Fork
from stacks.forking import fork as forked
from stacks.json_schemas import all_schemas, written
from stacks.settings import STACKS_DIR

__all__ = ["fork"]

PresetArgument = Annotated[
    str, typer.Argument(metavar="PRESET", help="The preset to start from.", autocompletion=complete_preset)
]
NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="What the new preset and its stack are called: 1 to 13 characters.")
]
HardwareOption = Annotated[
    str | None,
    typer.Option(
        "--hardware",
        metavar="TYPE",
        help="A machine type with GPUs. Without a row in the catalog, one to fill in is written.",
        autocompletion=complete_hardware,
    ),
]


def fork(
    preset: PresetArgument, name: NameArgument, hardware: HardwareOption = None, as_json: JsonOption = False
) -> None:
    """Make a preset and a stack of your own.

    Writes stacks/presets/NAME.yaml, which extends PRESET, and stacks/Pulumi.NAME.yaml; never over an existing file.
    With --hardware, sizes are derived anew until plan has nothing against them.
    """
    with problems_as_result(as_json=as_json):
        made = forked(preset, name, hardware, STACKS_DIR)
        write_all(STACKS_DIR, made.files)
        write_all(STACKS_DIR, _outdated_schemas())
    if as_json:
        show_json(_document(made))
    else:
        show(*_parts(made))
    end_with(made.problems)


def _outdated_schemas() -> dict[str, str]:
    """The schemas that editors use name every preset."""
    schemas = {f"schemas/{name}": written(schema) for name, schema in all_schemas(STACKS_DIR).items()}
    return {name: text for name, text in schemas.items() if (STACKS_DIR / name).read_text(encoding="utf-8") != text}


def _parts(made: Fork) -> list[RenderableType]:
    purpose = f"fork of {made.preset} for {made.hardware}" if made.hardware else f"copy of {made.preset}"
    parts: list[RenderableType] = [said(f"{made.name}: {purpose}; {counted(made.problems)}")]
    parts += [heading("written"), said("\n".join(_paths(made)) or "nothing: the files are there already")]
    if made.changes:
        rows = [(change.path, change.was, change.now, change.why) for change in made.changes]
        parts += [heading("derived anew"), table(("key", "was", "is", "why"), rows, long=("was", "is", "why"))]
    if made.unverified:
        accepted = [(feature.name, feature.note or feature.source) for feature in made.unverified]
        title = f"accepted in stacks/Pulumi.{made.name}.yaml, because nobody is known to have run it; yours to decide"
        parts += [heading(title), table(("feature", "why it counts as unverified"), accepted)]
    if made.problems:
        parts += [heading("problems"), said(to_text(made.problems))]
    return [*parts, heading("next"), said("\n".join(_next(made)))]


def _paths(made: Fork) -> list[str]:
    return [f"stacks/{path}" for path in made.files]


def _next(made: Fork) -> list[str]:
    if made.waits:
        return [
            f"fill in stacks/catalog/hardware/{made.hardware}.yaml",
            f"beamline fork {made.preset} {made.name} --hardware {made.hardware}",
        ]
    return [f"beamline plan {made.name}", f"beamline sandbox up {made.name}"]


def _document(made: Fork) -> dict[str, Any]:
    return {
        "preset": made.name,
        "extends": made.preset,
        "hardware": made.hardware,
        "written": _paths(made),
        "changes": [
            {"path": change.path, "was": change.old, "is": change.new, "why": change.why} for change in made.changes
        ],
        "accept_unverified": [feature.name for feature in made.unverified],
        "problems": [problem.to_json() for problem in made.problems],
    }
