"""Every engine container of every preset is taken by its engine as it is; faults that are put in are not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engines.asking import every_case
from tests.engines.real.conftest import BAD

Answers = dict[str, dict[str, Any]]


def _verdicts(answers: Answers) -> dict[str, dict[str, Any]]:
    return {verdict["name"]: verdict for answer in answers.values() for verdict in answer["verdicts"]}


def test_every_container_is_judged(answers: Answers) -> None:
    judged = {name for name in _verdicts(answers) if not name.startswith("bad/")}
    assert judged == {case.name for case in every_case()}
    assert {case.program for case in every_case()} == {"vllm", "dynamo.vllm", "dynamo.sglang", "dynamo.frontend"}


@pytest.mark.parametrize("name", [case.name for case in every_case()])
def test_the_engine_takes_it(name: str, answers: Answers) -> None:
    assert _verdicts(answers)[name]["refused"] == []


@pytest.mark.parametrize("bad", BAD, ids=[bad["name"] for bad in BAD])
def test_the_engine_refuses_a_fault(bad: dict[str, Any], answers: Answers) -> None:
    """At the stage that is meant, for the reason that is meant."""
    refused = _verdicts(answers)[f"bad/{bad['name']}"]["refused"]
    assert [found for found in refused if found["stage"] == bad["stage"] and bad["says"] in found["message"]], refused
