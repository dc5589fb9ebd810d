"""With prefill apart from decode, a prompt is computed by one worker and its answer by another, as the router chose."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.live.loopback import Running, serving
from tests.live.rendered import Simulated, objects
from tests.live.traffic import Answer, Shape, converse
from tests.manifests.cluster_objects import Objects, flag
from tests.manifests.dynamo.graphs import container, workers
from tests.shipped import accepted

SHAPE = Shape(sessions=9, turns=4, groups=3, shared_tokens=1024, turn_tokens=512, answer_tokens=8, think_s=0.2)
REQUESTS = SHAPE.sessions * SHAPE.turns
LONG = Shape(sessions=24, turns=3, groups=24, shared_tokens=512, turn_tokens=256, answer_tokens=48, think_s=0.1)
KILLED_AT = LONG.sessions + LONG.sessions // 4
"""Answers by then: most sessions are in the middle of their second one."""
PREFILL, DECODE = 0, 2
"""Numbers of the first worker of each role."""
NO_EVENTS = "kv_event_publisher_disabled"
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def _apart(**shape: int) -> Objects:
    return objects("g4-dynamo-d1", {"shape": shape} if shape else None, tuple(accepted("g4-dynamo-d1")))


def _ask(running: Running) -> list[Answer]:
    return converse(running.url, running.model, SHAPE, seed=1, named=True)


def _whole(answers: list[Answer], shape: Shape = SHAPE) -> list[Answer]:
    return [a for a in answers if a.status == 200 and a.answer_tokens == shape.answer_tokens]


@pytest.mark.parametrize("preset", ["g4-dynamo-d1", "a4x-max-dynamo-d1"])
def test_every_request_passes_prefill_and_then_decode(tmp_path: Path, say: Callable[[str], None], preset: str) -> None:
    """With vLLM's settings and with SGLang's; the workers are simulated alike."""
    with serving(
        objects(preset, accepted=tuple(accepted(preset))), tmp_path, simulated=Simulated(blocks=500)
    ) as running:
        known, answers = running.known(), _ask(running)
    passed = [a for a in _whole(answers) if a.prefill in known["prefill"] and a.worker in known["backend"]]
    met: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for answer in passed:
        met[answer.session].add((answer.prefill, answer.worker))
    stayed = sum(len(pairs) == 1 for pairs in met.values())
    say(
        f"prefill apart ({preset}): {len(passed)} of {REQUESTS} requests through both roles, two workers of each; "
        f"{stayed} of {SHAPE.sessions} sessions kept one worker of each"
    )
    assert {role: len(ids) for role, ids in known.items()} == {"prefill": 2, "backend": 2}
    assert len(passed) == REQUESTS
    assert {len({a.prefill for a in passed}), len({a.worker for a in passed})} == {2}
    assert stayed == SHAPE.sessions


def test_where_nothing_is_apart_one_worker_does_both(tmp_path: Path) -> None:
    with serving(objects("g4-dynamo-b2"), tmp_path, simulated=Simulated(blocks=500)) as running:
        known, answers = running.known(), _ask(running)
    assert known.keys() == {"backend"}
    assert len(_whole(answers)) == REQUESTS
    assert {a.prefill for a in answers} == {""}


@pytest.mark.parametrize(("role", "number", "carried_on"), [("prefill", PREFILL, 0), ("decode", DECODE, 1)])
def test_a_killed_worker_of_either_role_loses_no_request(
    tmp_path: Path, say: Callable[[str], None], role: str, number: int, carried_on: int
) -> None:
    heard: list[Answer] = []
    with serving(_apart(), tmp_path, simulated=Simulated(speedup=0.5), together=False) as running:

        def kill(answer: Answer) -> None:
            heard.append(answer)
            if len(heard) == KILLED_AT:
                running.kill_worker(number)

        answers = converse(running.url, running.model, LONG, seed=1, named=True, heard=kill)
        moved = int(running.metrics()["dynamo_frontend_model_migration_total"])
    lost = len(answers) - len(_whole(answers, LONG))
    say(f"one of two {role} workers killed: {lost} of {len(answers)} requests lost, {moved} carried on by the other")
    assert len(answers) == LONG.sessions * LONG.turns
    assert lost == 0
    assert moved >= carried_on


@pytest.mark.parametrize(("below_tokens", "asked"), [(0, set()), (2048, {"decode"})])
def test_the_router_asks_decode_workers_for_events_where_prompts_may_stay_there(
    tmp_path: Path, say: Callable[[str], None], below_tokens: int, asked: set[str]
) -> None:
    """Mockers of this mode tell of nothing, whatever they are told, and the router complains where it needs it.

    So it is shown which workers have to publish, which the rendered ones do, and not a prompt that stays.
    """
    found = _apart(from_uncached_tokens=below_tokens)
    with serving(found, tmp_path, simulated=Simulated(blocks=500)) as running:
        answers = _ask(running)
        log = _COLOURS.sub("", (tmp_path / "frontend.log").read_text(errors="replace"))
    complaints = [line for line in log.splitlines() if NO_EVENTS in line]
    say(f"prompts stay on decode below {below_tokens} tokens: events are asked of {sorted(asked) or 'prefill alone'}")
    assert {role for line in complaints for role in re.findall(r'worker_role="(\w+)"', line)} == asked
    assert len(_whole(answers)) == REQUESTS
    publishing = {w["name"] for w in workers(found) if flag(container(w), "kv-events-config")}
    assert publishing == {"prefill", *asked}
