"""What one process of llm-d's endpoint picker keeps to itself: two that choose at once would disagree about it."""

from __future__ import annotations

from stacks.spec import Routing

__all__ = ["kept_by_one_picker"]


def kept_by_one_picker(routing: Routing) -> tuple[str, ...]:
    """Return it in words; nothing where every picker knows the same, from what engines publish.

    Source: llm-d-router v0.10.0, chart routerlib (_deployment.yaml: one active replica); llm-d-router#1290
    """
    control = routing.flow_control
    return (
        *(["which replica has seen which prefix"] if routing.cache_view == "approximate" else []),
        *(["which replica has which session"] if routing.session_affinity else []),
        *(["the requests that wait, and how many run where"] if control else []),
        *(["how deep each session is"] if control and control.order == "turn_priority" else []),
    )
