"""The simulated controllers begin anew when kinds come or go, also when kopf would not end by itself."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

import pytest

from beamline.sandbox.cloud.errors import CloudError
from beamline.sandbox.operators import __main__ as operators

KNOWN = frozenset({"Gateway"})


class BegunError(Exception):
    """In place of the process that begins anew."""


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the process was replaced by; nothing is waited for."""
    found: list[Any] = []

    def execv(program: str, arguments: list[str]) -> None:
        found.append((program, arguments))
        raise BegunError

    monkeypatch.setattr(os, "execv", execv)
    monkeypatch.setattr(operators, "_KINDS_EVERY_S", 0.0)
    monkeypatch.setattr(operators, "_ENDS_IN_S", 0.0)
    return found


def test_a_run_that_does_not_end_begins_anew_as_the_same_process(begun: list[Any]) -> None:
    changed = threading.Event()
    with pytest.raises(BegunError):
        operators.watch_kinds(frozenset, KNOWN, changed, threading.Event())
    assert (changed.is_set(), begun) == (True, [(sys.executable, sys.orig_argv)])


def test_one_that_ends_is_left_alone(begun: list[Any]) -> None:
    """Kopf ends as soon as it is told to."""
    ended = threading.Event()

    class EndingEvent(threading.Event):
        def set(self) -> None:
            super().set()
            ended.set()

    changed = EndingEvent()
    operators.watch_kinds(frozenset, KNOWN, changed, ended)
    assert (changed.is_set(), begun) == (True, [])


def test_nothing_is_begun_anew_when_the_same_kinds_are_served(begun: list[Any]) -> None:
    ended, looks = threading.Event(), iter(range(3))

    def served() -> frozenset[str]:
        if next(looks) == 2:
            ended.set()
        return KNOWN

    changed = threading.Event()
    operators.watch_kinds(served, KNOWN, changed, ended)
    assert (changed.is_set(), begun) == (False, [])


def test_a_server_that_does_not_answer_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """An end of this process is the end of all that a destroy waits for."""
    answers: list[frozenset[str] | CloudError] = [CloudError("busy"), CloudError("busy"), KNOWN]
    monkeypatch.setattr(operators, "_KINDS_EVERY_S", 0.0)

    def served() -> frozenset[str]:
        answer = answers.pop(0)
        if isinstance(answer, CloudError):
            raise answer
        return answer

    assert operators.served_in_time(served) == KNOWN
    assert answers == []
