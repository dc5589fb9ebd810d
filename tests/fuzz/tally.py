"""How many inputs a run takes, and the table of what became of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, Phase, settings

from stacks import ProblemsFound
from tests.fuzz.judging import Answer

__all__ = ["INPUTS", "Tally", "inputs", "table"]

USUAL = 2000
INPUTS = int(os.environ.get("FUZZ_INPUTS", USUAL))
"""Inputs of a whole run, all tests together. ``make fuzz`` asks for more than a commit can wait for."""


def inputs(share: float) -> settings:
    """Return the settings of a test that takes ``share`` of all inputs.

    The usual inputs are the same on every machine: a red build is about the change, not about luck. A longer run draws
    new ones each time and says how to repeat a failure.
    """
    return settings(
        max_examples=round(INPUTS * share),
        derandomize=INPUTS == USUAL,
        print_blob=INPUTS != USUAL,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=set(Phase) - {Phase.explain},
    )


@dataclass
class Tally:
    """What became of the inputs of one test."""

    what: str
    planned: int = 0
    refused: int = 0
    rules: Counter[str] = field(default_factory=Counter)

    def count(self, answer: Answer) -> None:
        """Count one answer; of a refusal, every rule once."""
        if isinstance(answer, ProblemsFound):
            self.refused += 1
            self.rules.update({p.rule for p in answer.problems if p.severity == "error"})
        else:
            self.planned += 1

    @property
    def share_planned(self) -> float:
        """Of all inputs, those that gave a plan."""
        return self.planned / (self.planned + self.refused)


def table(rows: Iterable[tuple[Mapping[str, Any], float]]) -> list[str]:
    """Return the lines of the table: ``rows`` holds each test's tally as a mapping, and its seconds."""
    lines = [f"{'what was written':44} {'inputs':>7} {'planned':>8} {'refused':>8} {'seconds':>8}"]
    rules: Counter[str] = Counter()
    total, seconds = Counter[str](), 0.0
    for row, took in rows:
        rules.update(row["rules"])
        total.update({key: row[key] for key in ("planned", "refused")})
        seconds += took
        lines.append(_line(row["what"], row, took))
    lines += [_line("all", total, seconds), "", f"{'rule that refused':44} {'inputs':>7}"]
    return [*lines, *(f"{rule:44} {count:7}" for rule, count in rules.most_common())]


def _line(what: str, counts: Mapping[str, int], seconds: float) -> str:
    planned, refused = counts["planned"], counts["refused"]
    return f"{what:44} {planned + refused:7} {planned:8} {refused:8} {seconds:8.1f}"
