"""Overload: what does not fit a queue is refused at once, low priorities first; what waits is served by share."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.live.loopback import WORKERS, serving
from tests.live.rendered import Simulated, objects
from tests.live.traffic import Answer, burst

BANDS = ("interactive", "agents", "background")
"""Of the preset, by falling priority."""
REQUESTS = 150
TOKENS, ANSWER_TOKENS = 1500, 4
ENGINE = {"max_sequences": 8, "batched_tokens": 2048}
"""A small batch, so that small prompts make a queue."""
SOONER = 0.85
"""A band's mean time to first token against that of the next lower one. Seen: 0.62 to 0.75."""


def _answers(preset: str, engine: Mapping[str, Any], folder: Path) -> list[Answer]:
    found = objects(preset, {"engine": {**ENGINE, **engine}})
    with serving(found, folder, simulated=Simulated(blocks=3000, speedup=0.2)) as running:
        bands = [BANDS[number % len(BANDS)] for number in range(REQUESTS)]
        return burst(running.url, running.model, bands, tokens=TOKENS, answer_tokens=ANSWER_TOKENS, seed=1)


def _statuses(answers: list[Answer]) -> dict[str, Counter[int]]:
    return {band: Counter(a.status for a in answers if a.session == band) for band in BANDS}


def test_a_full_queue_refuses_at_once_and_the_lowest_band_first(tmp_path: Path, say: Callable[[str], None]) -> None:
    answers = _answers("g4-dynamo-b3", {"max_waiting_requests": 8}, tmp_path)
    statuses = _statuses(answers)
    refused = [a for a in answers if a.status == 529]
    served = [a for a in answers if a.status == 200]
    say(
        f"{REQUESTS} requests at once, queues of {8 * WORKERS}, {8 * WORKERS} and {2 * WORKERS}: refused with 529 "
        + ", ".join(f"{statuses[band][529]} of {statuses[band].total()} {band}" for band in BANDS)
        + f"; slowest refusal x{max(a.took_s for a in refused) / max(a.took_s for a in served):.2f} of slowest answer"
    )
    assert {status for counts in statuses.values() for status in counts} == {200, 529}
    assert {a.answer_tokens for a in served} == {ANSWER_TOKENS}
    assert statuses["background"][529] > statuses["agents"][529]
    assert statuses["background"][529] > statuses["interactive"][529]
    assert max(a.took_s for a in refused) < max(a.took_s for a in served) / 2


def test_without_queues_of_its_own_the_router_refuses_nobody(tmp_path: Path, say: Callable[[str], None]) -> None:
    answers = _answers("g4-dynamo-b2", {}, tmp_path)
    say(f"the same without flow control: {sum(a.status != 200 for a in answers)} refused, all wait in the engines")
    assert {a.status for a in answers} == {200}


def test_a_band_is_served_sooner_than_the_one_below(tmp_path: Path, say: Callable[[str], None]) -> None:
    answers = _answers("g4-dynamo-b3", {}, tmp_path)
    assert {a.status for a in answers} == {200}
    ttft = {band: statistics.mean(a.ttft_s for a in answers if a.session == band) for band in BANDS}
    high, middle, low = (ttft[band] for band in BANDS)
    say(f"mean TTFT of a backlog: interactive x{high / middle:.2f} of agents, agents x{middle / low:.2f} of background")
    assert high < SOONER * middle
    assert middle < SOONER * low
