"""All at once, each with its deadline: what one check does costs the others nothing."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from beamline.preflight import Check, Finding, Standing, run_checks
from beamline.preflight.google import DeniedError, NotFoundError
from tests.preflight.targets import target, world


def check(name: str, look: Any, **more: Any) -> Check[Any]:
    given = {"asks": f"{name} asked", "source": f"{name} says", "rules": (), **more}
    return Check(id=name, look=look, judge=lambda _, answer: [Finding(f"{name} asked", answer)], **given)


def raises(error: Exception) -> Any:
    def look(*_: Any) -> str:
        raise error

    return look


@pytest.fixture
def nobody() -> Any:
    return world("http://127.0.0.1:1")


def test_every_way_to_fail_is_told_and_the_others_are_answered(nobody: Any) -> None:
    checks = [
        check("fine", lambda *_: "yes"),
        check("denied", raises(DeniedError("no right to look"))),
        check("nowhere", raises(NotFoundError("no such project"))),
        check("defect", raises(KeyError("name"))),
        check("other", lambda *_: "yes", applies=lambda _: False),
    ]
    report = run_checks(checks, target(), nobody)
    assert {name: [(f.standing, f.found, f.source) for f in found] for name, found in report.findings.items()} == {
        "fine": [(Standing.OK, "yes", "fine says")],
        "denied": [(Standing.UNKNOWN, "no right to look", "denied says")],
        "nowhere": [(Standing.PROBLEM, "no such project", "nowhere says")],
        "defect": [(Standing.UNKNOWN, "the answer could not be understood (KeyError: 'name')", "defect says")],
    }


def test_a_judgement_that_fails_leaves_the_question_open(nobody: Any) -> None:
    broken = Check("x", "x asked", "", (), look=lambda *_: "a", judge=lambda _, answer: answer + 1)
    (found,) = run_checks([broken], target(), nobody).findings["x"]
    assert (found.standing, found.asked) == (Standing.UNKNOWN, "x asked")


def test_a_check_that_does_not_answer_ends_at_its_deadline(nobody: Any) -> None:
    """The clock is the test's: it stands until the others have answered, then it is past the deadline."""
    over, reported = threading.Event(), []
    checks = [check("slow", lambda *_: over.wait(), deadline_s=60.0), check("fast", lambda *_: "yes", deadline_s=90.0)]

    def clock() -> float:
        return 61.0 if reported else 0.0

    report = run_checks(checks, target(), nobody, clock=clock, report=lambda c: reported.append(c.id))
    over.set()
    assert reported == ["fast", "slow"]
    assert [(f.standing, f.found) for f in report.findings["slow"]] == [(Standing.UNKNOWN, "no answer within 60 s")]
    assert list(report.findings) == ["slow", "fast"]


def test_checks_ask_at_the_same_time(nobody: Any) -> None:
    """Each waits for the other: in turn, neither would ever answer."""
    together = threading.Barrier(2)
    checks = [check(name, lambda *_: str(together.wait() >= 0)) for name in ("one", "other")]
    report = run_checks(checks, target(), nobody)
    assert {finding.standing for found in report.findings.values() for finding in found} == {Standing.OK}
