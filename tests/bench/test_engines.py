"""The benchmark of what is known of engines: it looks at real plans, and stops where they are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench import engines
from bench.kv_blocks import EngineFigures, deviations, read_figures
from bench.pairs import Alone
from stacks.problems import EnvironmentProblem, Problem

PRESETS = ["small-l4", "a4x-max-dynamo"]


def test_every_question_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "preset_names", lambda: PRESETS)
    seen: list[EngineFigures] = []
    monkeypatch.setattr(engines, "deviations", lambda row, specs: seen.append(row) or deviations(row, specs) or [0.0])

    flags, tokens = engines.engines(runs=2)

    assert (flags.question, tokens.question) == engines.ENGINES
    assert isinstance(flags.measured, Alone)
    assert flags.measured.runs == 2
    assert flags.measured.lowest > 0
    assert tokens.verdict == "met"
    assert seen == read_figures()


def test_a_figure_that_is_off_breaks_the_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "preset_names", lambda: PRESETS[:1])
    (small,) = [row for row in read_figures() if PRESETS[0] in row.names]
    off = replace(small, theirs=replace(small.theirs, tokens=small.theirs.tokens * 98 // 100))
    monkeypatch.setattr(engines, "read_figures", lambda: [off])

    _, tokens = engines.engines(runs=1)

    assert tokens.verdict == "broken"


def test_a_preset_that_is_refused_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "preset_names", lambda: PRESETS[:1])
    refused = Problem(rule="engine-flag-unknown", path="args[0]", why="it is unknown", allowed="", remedy="", source="")
    monkeypatch.setattr(engines, "engine_problems", lambda _: [refused])
    with pytest.raises(EnvironmentProblem, match="unknown"):
        list(engines.engines(runs=1))
