"""Sessions that say who they are stay with one worker; without a name they do not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.live.loopback import serving
from tests.live.rendered import Simulated, objects
from tests.live.traffic import Answer, Shape, converse

SHAPE = Shape(sessions=17, turns=5, groups=4, shared_tokens=1024, turn_tokens=512, answer_tokens=4, think_s=0.2)


def _stayed(answers: list[Answer]) -> int:
    workers: dict[str, set[str]] = defaultdict(set)
    for answer in answers:
        assert answer.worker
        workers[answer.session].add(answer.worker)
    return sum(len(met) == 1 for met in workers.values())


@pytest.mark.parametrize("named", [True, False])
def test_a_session_stays_where_it_began(tmp_path: Path, say: Callable[[str], None], *, named: bool) -> None:
    with serving(objects("g4-dynamo-b2"), tmp_path, simulated=Simulated(blocks=500)) as running:
        answers = converse(running.url, running.model, SHAPE, seed=1, named=named)
    stayed = _stayed(answers)
    header = "with x-dynamo-session-id" if named else "without the header"
    say(f"sessions {header}: {stayed} of {SHAPE.sessions} on one worker, {len(answers)} requests")
    assert (stayed == SHAPE.sessions) is named
