"""A frontend that died and came again: by events it finds out what workers have cached, by memory it begins anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.live.loopback import serving
from tests.live.rendered import Simulated, objects
from tests.live.traffic import Answer, Shape, converse

PROMPTS = Shape(sessions=24, turns=1, groups=24, shared_tokens=1024, turn_tokens=64, answer_tokens=2, think_s=0.5)
ALL, BY_CHANCE = 0.8, 0.6
"""Of the prompt tokens in a cache: where the router knows, and at most where it guesses among four workers."""


def _hit(answers: list[Answer]) -> float:
    return sum(a.cached_tokens for a in answers) / sum(a.prompt_tokens for a in answers)


@pytest.mark.parametrize("view", ["events", "approximate"])
def test_what_a_new_frontend_knows(view: str, tmp_path: Path, say: Callable[[str], None]) -> None:
    accepted = () if view == "events" else ("routing:prefix_approximate",)
    found = objects("g4-dynamo-b1", {"routing": {"policy": {"cache_view": view}}}, accepted)
    with serving(found, tmp_path, simulated=Simulated(blocks=3000)) as running:
        first, again = (_hit(converse(running.url, running.model, PROMPTS, seed=1)) for _ in range(2))
        running.restart_frontend()
        after = _hit(converse(running.url, running.model, PROMPTS, seed=1))
    say(f"the same prompts again, cache view {view}: hit {again:.2f}; after the frontend was killed {after:.2f}")
    assert first < BY_CHANCE
    assert again > ALL
    assert (after > ALL) if view == "events" else (after < BY_CHANCE)
