"""What a check reads out of an answer that is not the usual one: the server answers everything with the same text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from beamline.preflight import CHECKS, Check, Finding, Standing, Target, run_checks
from beamline.preflight.google import UnansweredError
from tests.preflight.scripted import Script, scripted
from tests.preflight.targets import programs, target, world

BY_ID: dict[str, Check[Any]] = {check.id: check for check in CHECKS}
QUOTAS = {
    "quotas": [
        {"metric": "HDB_TOTAL_GB", "limit": 10_000},
        {"metric": "GPUS_ALL_REGIONS", "limit": "many"},
        {"metric": "NVIDIA_RTX_PRO_6000_GPUS"},
        {"limit": 1},
    ]
}
BUCKET = {"metric": "m", "consumerQuotaLimits": [{"quotaBuckets": [{"dimensions": {}}]}]}


def found(check: str, stack: Target, answer: Any, **others: Any) -> Sequence[Finding]:
    with scripted(Script(body=json.dumps(answer))) as script:
        return run_checks([BY_ID[check]], stack, world(script.endpoint, **others)).findings[check]


@pytest.mark.parametrize(
    ("answer", "rules"),
    [
        ({"gated": "manual"}, [(Standing.PROBLEM, "hub-token-needed")]),
        ({"gated": "auto"}, [(Standing.PROBLEM, "hub-token-needed")]),
        ({"gated": False}, [(Standing.OK, "")]),
        ({}, [(Standing.OK, "")]),
        ([], [(Standing.UNKNOWN, "")]),
    ],
)
def test_a_gated_model_is_not_for_anybody(answer: Any, rules: list[tuple[Standing, str]]) -> None:
    assert [(f.standing, f.rule) for f in found("weights", target("small-l4"), answer)] == rules


def test_a_quota_that_cannot_be_read_costs_the_others_nothing() -> None:
    by_name = {f.asked.split(" leaves ")[0]: f for f in found("quotas", target(), QUOTAS | BUCKET)}
    assert by_name["HDB_TOTAL_GB"].standing is Standing.OK
    assert (by_name["GPUS_ALL_REGIONS"].standing, by_name["GPUS_ALL_REGIONS"].found) == (
        Standing.UNKNOWN,
        "its limit is no number: 'many'",
    )
    assert (by_name["NVIDIA_RTX_PRO_6000_GPUS"].rule, by_name["NVIDIA_RTX_PRO_6000_GPUS"].found) == (
        "quota-exceeded",
        "0 of 0 used",
    )
    family = by_name["CPUS_PER_VM_FAMILY of N4"]
    assert (family.rule, family.found) == ("quota-exceeded", "a limit of 0; its usage is not told")


def test_a_program_that_does_not_answer_leaves_the_other_judged() -> None:
    def hanging(command: Sequence[str]) -> str:
        if command[0] == "pulumi":
            raise UnansweredError("pulumi version cannot be run")
        return programs(command)

    judged = found("programs", target(), {}, program=hanging)
    assert [f.standing for f in judged] == [Standing.UNKNOWN, Standing.OK]
