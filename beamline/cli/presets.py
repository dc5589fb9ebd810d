"""`beamline presets`: what there is to start from, and how each is known to work."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from beamline.cli.completion import complete_preset
from beamline.cli.endings import end_with, problems_as_result
from beamline.cli.output import heading, said, show, show_json, table
from beamline.cli.parameters import JsonOption
from beamline.cli.planning import accepting, resolved
from beamline.cli.selection import select_preset
from beamline.cli.stack_text import derived_table, evidence_json, evidence_table, summary
from stacks import Problem, ProblemsFound, StackSpec, to_text
from stacks.preset_files import preset_names

__all__ = ["presets"]


@dataclass(frozen=True)
class _Offer:
    """One preset: its stack as planned with placeholders, or what is wrong with it."""

    name: str
    spec: StackSpec | None
    problems: tuple[Problem, ...] = ()


def presets(
    name: Annotated[
        str | None, typer.Argument(metavar="[PRESET]", help="Show this one whole.", autocompletion=complete_preset)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the presets, or show one whole."""
    if name is None:
        _show_all(as_json=as_json)
    else:
        _show_one(name, as_json=as_json)


def _show_all(*, as_json: bool) -> None:
    offers = [_offer(name) for name in preset_names()]
    problems = [problem for offer in offers for problem in offer.problems]
    specs = [offer.spec for offer in offers if offer.spec is not None]
    if as_json:
        show_json({"presets": [_in_short(spec) for spec in specs], "problems": [p.to_json() for p in problems]})
    else:
        columns = ("preset", "hardware", "precision", "evidence", "USD/h", "description")
        parts: list[RenderableType] = [
            table(columns, [_row(spec) for spec in specs], right=("USD/h",), long=("evidence", "description"))
        ]
        show(*parts, *([said("\n" + to_text(problems))] if problems else []))
    end_with(problems)


def _show_one(name: str, *, as_json: bool) -> None:
    with problems_as_result(as_json=as_json):
        spec = _as_offered(name)
    composition = spec.preset.model_dump(mode="json", exclude={"description", "evidence"})
    if as_json:
        show_json(
            {
                **_in_short(spec),
                "evidence": evidence_json(spec),
                "composition": composition,
                "derived": spec.derived.explained(),
            }
        )
        return
    show(
        summary(spec),
        heading("composition"),
        table(("key", "value"), list(_lines(composition))),
        heading("evidence"),
        evidence_table(spec),
        heading("derived numbers"),
        derived_table(spec),
    )


def _offer(name: str) -> _Offer:
    try:
        return _Offer(name, _as_offered(name))
    except ProblemsFound as found:
        return _Offer(name, None, tuple(found.problems))


def _as_offered(name: str) -> StackSpec:
    """Return a preset's stack as if all that has to be accepted were: it is shown here, not planned."""
    return resolved(accepting(select_preset(name)))


def _in_short(spec: StackSpec) -> dict[str, Any]:
    preset, rows = spec.preset, spec.rows
    return {
        "preset": spec.settings.preset,
        "description": preset.description,
        "production": preset.production,
        "hardware": {
            "machine_type": rows.hardware.machine_type,
            "nodes": preset.nodes_of("serving"),
            "gpu": rows.hardware.gpu.model,
            "gpus_per_node": rows.hardware.gpu.count,
        },
        "model": rows.model.title,
        "precision": rows.checkpoint.precision,
        "evidence": dict(sorted(Counter(feature.status for feature in spec.features).items())),
        "usd_per_hour": spec.derived.usd_per_hour,
    }


def _row(spec: StackSpec) -> tuple[str, ...]:
    short = _in_short(spec)
    price = spec.derived.usd_per_hour
    return (
        short["preset"],
        f"{short['hardware']['nodes']} x {short['hardware']['machine_type']}",
        short["precision"],
        ", ".join(f"{count} {status}" for status, count in short["evidence"].items()),
        "unknown" if price is None else f"{price:.2f}",
        short["description"],
    )


def _lines(section: dict[str, Any], at: str = "") -> list[tuple[str, str]]:
    """Flatten a composition into dotted keys, as ``--set`` takes them."""
    lines = []
    for key, value in section.items():
        path = f"{at}.{key}" if at else key
        lines += _lines(value, path) if isinstance(value, dict) else [(path, _as_yaml(value))]
    return lines


def _as_yaml(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
