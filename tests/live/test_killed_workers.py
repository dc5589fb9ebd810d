"""Workers that die in the middle of answers: others carry them on. What would lose requests is shown to lose some."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.live.loopback import Running, serving
from tests.live.rendered import Simulated, frontend_arguments, objects
from tests.live.traffic import Answer, Shape, converse
from tests.manifests.cluster_objects import Objects

SHAPE = Shape(sessions=24, turns=3, groups=24, shared_tokens=512, turn_tokens=256, answer_tokens=48, think_s=0.1)
KILLED = (1, 2)
"""Half of the workers; the rest are two."""
REQUESTS = SHAPE.sessions * SHAPE.turns


KILLED_AT = SHAPE.sessions + SHAPE.sessions // 4
"""Answers by then: sessions begin together, so most are in the middle of their second one."""


def _kills(running: Running) -> Callable[[Answer], None]:
    heard: list[Answer] = []

    def on_answer(answer: Answer) -> None:
        heard.append(answer)
        if len(heard) == KILLED_AT:
            for number in KILLED:
                running.kill_worker(number)

    return on_answer


def _lost(found: Objects, folder: Path, *, named: bool) -> tuple[int, int]:
    """Requests without a whole answer, and those that another worker carried on."""
    with serving(found, folder, simulated=Simulated(speedup=0.5), together=False) as running:
        answers = converse(running.url, running.model, SHAPE, seed=1, named=named, heard=_kills(running))
        moved = running.metrics()["dynamo_frontend_model_migration_total"]
    whole = [a for a in answers if a.status == 200 and a.answer_tokens == SHAPE.answer_tokens]
    assert len(answers) == REQUESTS
    return REQUESTS - len(whole), int(moved)


def test_no_request_is_lost(tmp_path: Path, say: Callable[[str], None]) -> None:
    lost, moved = _lost(objects("g4-dynamo-b1"), tmp_path, named=False)
    say(f"two of four workers killed: {lost} of {REQUESTS} requests lost, {moved} carried on by others")
    assert moved > 0
    assert lost == 0


def test_no_request_of_a_sticky_session_is_lost(tmp_path: Path, say: Callable[[str], None]) -> None:
    lost, moved = _lost(objects("g4-dynamo-b2"), tmp_path, named=True)
    say(f"the same with sticky sessions (soft): {lost} lost, {moved} carried on")
    assert moved > 0
    assert lost == 0


def test_strict_sessions_lose_some(tmp_path: Path, say: Callable[[str], None]) -> None:
    """Why plan warns of strict affinity: bound to a worker that is gone, a request is sent nowhere else."""
    strict = objects("g4-dynamo-b2", {"routing": {"session_affinity": {"strict": True}}})
    lost, _ = _lost(strict, tmp_path, named=True)
    say(f"the same with strict sessions (hard): {lost} lost")
    assert lost > 0


def test_without_migration_some_are_lost(tmp_path: Path, say: Callable[[str], None]) -> None:
    bare = objects("g4-dynamo-b1")
    arguments = frontend_arguments(bare)
    arguments[:] = [argument for argument in arguments if not argument.startswith("--migration-limit")]
    lost, _ = _lost(bare, tmp_path, named=False)
    say(f"the same without --migration-limit: {lost} lost")
    assert lost > 0
