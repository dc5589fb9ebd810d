"""`beamline size`: what a stack holds and can do at best, with the arithmetic behind each figure."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from beamline.cli.changes import parse_change
from beamline.cli.endings import end_with, problems_as_result
from beamline.cli.output import heading, pairs, said, show, show_json, table
from beamline.cli.parameters import JsonOption, SetOption, StackArgument
from beamline.cli.planning import accepting, resolved
from beamline.cli.selection import select
from stacks import StackSpec
from stacks.memory import GB, GIB
from stacks.sizing import Figure, Sizing, Tier, default_session, stated_session
from stacks.sizing import size as size_of

__all__ = ["size"]

SessionOption = Annotated[
    int | None,
    typer.Option(
        "--session-tokens",
        metavar="TOKENS",
        min=1,
        help="Length of the sessions that tiers are counted in. Default: the median of a public agent workload.",
    ),
]
_TIERS = {"hbm": "GPU memory", "host_dram": "host DRAM", "local_ssd": "local SSD"}


def size(
    stack: StackArgument,
    changes: SetOption = None,
    session_tokens: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show memory, KV cache by tier, bounds and price, with formulas.

    Arithmetic on the preset and on catalog rows: nothing was measured, and what no row knows is unknown. A preset is
    sized whether or not there is evidence for its features.
    """
    assigned = [parse_change(text) for text in changes or []]
    with problems_as_result(as_json=as_json):
        selection = select(stack, assigned)
        spec = resolved(selection if selection.file else accepting(selection))
    session = stated_session(session_tokens) if session_tokens else default_session(spec.preset.serving.context_tokens)
    sizing = size_of(spec.preset, spec.rows, spec.derived, session)
    if as_json:
        show_json(_document(stack, spec, sizing))
    else:
        show(*_parts(stack, spec, sizing))
    end_with(spec.problems)


def _parts(stack: str, spec: StackSpec, sizing: Sizing) -> list[RenderableType]:
    parts: list[RenderableType] = [
        said(f"{stack}: {spec.preset.description}\n"),
        pairs([("session", f"{sizing.session.tokens:,} tokens: {sizing.session.source}"), *_verdicts(sizing)]),
    ]
    for section in (*sizing.memory, None, *sizing.speed, sizing.price):
        if section is None:
            parts += [heading("KV cache by tier"), _tiers(sizing, spec.preset.serving.context_tokens)]
        else:
            parts += [heading(section.title), _figures(section.figures)]
    return parts


def _verdicts(sizing: Sizing) -> list[tuple[str, str]]:
    return [
        (_TIERS[verdict.tier], verdict.why if verdict.verdict == "holds" else f"{verdict.verdict}: {verdict.why}")
        for verdict in sizing.verdicts
    ]


def _figures(figures: tuple[Figure, ...]) -> RenderableType:
    rows = [(figure.name, _shown(figure), figure.basis, figure.formula) for figure in figures]
    return table(("figure", "value", "basis", "how"), rows, right=("value",))


def _tiers(sizing: Sizing, context_tokens: int) -> RenderableType:
    rows = [_tier(tier) for tier in sizing.tiers]
    contexts, sessions = f"x {context_tokens:,}", f"x {sizing.session.tokens:,}"
    columns = (
        "tier",
        "a replica",
        "tokens",
        contexts,
        sessions,
        "replicas",
        "tokens in all",
        "sessions",
        "basis",
        "how",
    )
    return table(columns, rows, right=columns[1:8])


def _tier(tier: Tier) -> tuple[str, ...]:
    return (
        f"{_TIERS[tier.tier]} ({tier.role})",
        f"{tier.bytes_per_replica / GB:,.1f} GB",
        *(f"{n:,}" for n in (tier.tokens_per_replica, tier.contexts_per_replica, tier.sessions_per_replica)),
        *(f"{n:,}" for n in (tier.replicas, tier.tokens, tier.sessions)),
        tier.basis,
        tier.formula,
    )


def _shown(figure: Figure) -> str:
    value = figure.value
    if value is None:
        return "unknown" if figure.basis == "unknown" else "none"
    if figure.shown_in:
        return f"{value / {'GB': GB, 'GiB': GIB}[figure.shown_in]:,.1f} {figure.shown_in}"
    text = f"{value:,.4f}" if figure.unit == "USD/h" else f"{value:,}"
    return f"{text} {figure.unit}"


def _document(stack: str, spec: StackSpec, sizing: Sizing) -> dict[str, Any]:
    return {
        "stack": stack,
        "preset": spec.settings.preset,
        "session": asdict(sizing.session),
        "sections": [
            {
                "name": section.name,
                "title": section.title,
                "figures": [
                    {key: value for key, value in asdict(figure).items() if key != "shown_in"}
                    for figure in section.figures
                ],
            }
            for section in sizing.sections
        ],
        "tiers": [{**asdict(tier), "tokens": tier.tokens, "sessions": tier.sessions} for tier in sizing.tiers],
        "verdicts": [asdict(verdict) for verdict in sizing.verdicts],
        "problems": [problem.to_json() for problem in spec.problems],
    }
