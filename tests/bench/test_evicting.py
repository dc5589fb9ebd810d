"""The benchmark of the evictor: on a small tree both sides do what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import evicting
from bench.pairs import Compared


def test_blocks_are_laid_out_as_the_tier_lays_them_out(tmp_path: Path) -> None:
    size = evicting.tier(tmp_path, 20)

    blocks = list(tmp_path.glob("model_*_r0/[0-9a-f][0-9a-f][0-9a-f]/[0-9a-f][0-9a-f]_g0/*.bin"))
    assert len(blocks) == 20
    assert size == sum(block.stat().st_blocks * 512 for block in blocks)
    assert len({block.stat().st_mtime_ns for block in blocks}) == 20


def test_every_question_is_answered_by_a_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evicting, "WALKED", 30)
    monkeypatch.setattr(evicting, "EVICTED", 30)

    rows = list(evicting.evicting(pairs=1))

    assert [row.question for row in rows] == list(evicting.EVICTING)
    assert all(isinstance(row.measured, Compared) and row.measured.ratio > 0 for row in rows)
