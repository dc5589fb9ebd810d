"""Routing by cached prefix and load beats taking turns by a margin, in every run; with the mode flipped it does not.

Both stacks of a pair serve the same conversations at the same time, so whatever else the machine does, it does to both.
"""

from __future__ import annotations

import statistics
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.live.loopback import serving
from tests.live.rendered import Simulated, frontend_arguments, objects
from tests.live.traffic import Answer, Shape, converse
from tests.manifests.cluster_objects import Objects

RUNS = 5
HITS_MORE = 1.1
"""Of the prompt tokens, this many times as many are found in a cache. Seen: 1.18 to 1.6."""
TTFT_LESS = 0.85
"""The median time to the first token is at most this part. Seen: 0.44 to 0.7."""
SHAPE = Shape(sessions=11, turns=7, groups=4, shared_tokens=4096, turn_tokens=1024, answer_tokens=4, think_s=0.9)
SIMULATED = Simulated(blocks=620, speedup=0.5)


@dataclass(frozen=True)
class Seen:
    """One run of one stack."""

    hit: float
    ttft_s: float
    lost: int


def _seen(answers: list[Answer]) -> Seen:
    fine = [answer for answer in answers if answer.status == 200]
    return Seen(
        hit=sum(a.cached_tokens for a in fine) / sum(a.prompt_tokens for a in fine),
        ttft_s=statistics.median(a.ttft_s for a in fine),
        lost=len(answers) - len(fine),
    )


def _pair(one: Objects, other: Objects, folder: Path, seed: int) -> tuple[Seen, Seen]:
    both_ready = threading.Barrier(2, timeout=120)

    def arm(name: str, found: Objects) -> Seen:
        with serving(found, folder / name, simulated=SIMULATED) as running:
            both_ready.wait()
            return _seen(converse(running.url, running.model, SHAPE, seed=seed))

    with ThreadPoolExecutor(2) as pool:
        arms = [pool.submit(arm, name, found) for name, found in (("one", one), ("other", other))]
        return arms[0].result(), arms[1].result()


def _complaints(by_cache: Seen, in_turn: Seen) -> list[str]:
    found = []
    if by_cache.lost or in_turn.lost:
        found.append(f"lost requests: {by_cache.lost} and {in_turn.lost}")
    if by_cache.hit < HITS_MORE * in_turn.hit:
        found.append(f"hit {by_cache.hit:.2f}, in turn {in_turn.hit:.2f}")
    if by_cache.ttft_s > TTFT_LESS * in_turn.ttft_s:
        found.append(f"TTFT {by_cache.ttft_s:.3f} s, in turn {in_turn.ttft_s:.3f} s")
    return found


@pytest.mark.parametrize("seed", range(1, RUNS + 1))
def test_routing_by_cache_beats_taking_turns(seed: int, tmp_path: Path, say: Callable[[str], None]) -> None:
    by_cache, in_turn = _pair(objects("g4-dynamo-b1"), objects("g4-dynamo-a"), tmp_path, seed)
    say(
        f"prefix routing, run {seed} of {RUNS}: hit {by_cache.hit:.2f}, round robin {in_turn.hit:.2f} (x"
        f"{by_cache.hit / in_turn.hit:.2f}); median TTFT x{by_cache.ttft_s / in_turn.ttft_s:.2f}"
    )
    assert _complaints(by_cache, in_turn) == []


def test_with_the_mode_flipped_it_does_not(tmp_path: Path, say: Callable[[str], None]) -> None:
    flipped = objects("g4-dynamo-b1")
    arguments = frontend_arguments(flipped)
    arguments[arguments.index("--router-mode=kv")] = "--router-mode=round-robin"
    one, other = _pair(flipped, objects("g4-dynamo-a"), tmp_path, 1)
    ratios = f"hit x{one.hit / other.hit:.2f}; median TTFT x{one.ttft_s / other.ttft_s:.2f}"
    say(f"the same with --router-mode flipped: {ratios}")
    assert f"hit {one.hit:.2f}, in turn {other.hit:.2f}" in _complaints(one, other)
