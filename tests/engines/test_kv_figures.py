"""What the kit says that GPU memory holds, against the engines' committed figures: every preset, feature and odd size.

`make test-engines` holds the committed figures against the engines.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pytest

from bench.kv_blocks import (
    BOUND,
    EngineFigures,
    deviation,
    deviations,
    ours,
    read_figures,
    read_host_tiers,
    tier_deviations,
)
from stacks.preset_files import preset_names
from stacks.resolve import StackSpec
from stacks.spec import PrefillDecode
from tests.engines.asking import every_spec
from tests.engines.sizes import SIZES

STALE = "run `make kv-figures` and read what changes"


@cache
def specs() -> Mapping[str, StackSpec]:
    return every_spec()


def rows_of(name: str) -> list[EngineFigures]:
    return [row for row in read_figures() if name in row.names]


@pytest.mark.parametrize("name", [*preset_names(), *SIZES])
def test_the_kit_divides_as_the_engine_does(name: str) -> None:
    """Of the same bytes, both roles where they are apart; the longest request is that of the smaller one."""
    spec, rows = specs()[name], rows_of(name)
    apart = isinstance(spec.preset.serving.shape, PrefillDecode)
    assert [row.decodes_only for row in sorted(rows, key=lambda row: row.decodes_only)] == [False, True][: 1 + apart]
    for row in rows:
        per_rank = spec.derived.kv_room_bytes_per_replica // spec.derived.gpus_per_replica
        assert (row.engine, row.bytes_per_rank) == (spec.rows.engine.kind, per_rank), STALE
        assert abs(deviation(ours(spec, decodes_only=row.decodes_only).tokens, row.theirs.tokens)) <= BOUND
    longest = min(row.theirs.longest_request_tokens for row in rows)
    assert abs(deviation(spec.derived.kv_longest_request_tokens, longest)) <= BOUND


def test_every_worker_has_figures() -> None:
    """And nothing else has: a stack that is gone leaves none behind."""
    listed = [stack for row in read_figures() for stack in row.stacks]
    assert {stack.partition("/")[0] for stack in listed} == set(specs()), STALE
    assert len(listed) == len(set(listed))


def test_the_former_formula_would_be_refused() -> None:
    """(Bytes - windows of running sequences) / bytes of a token, as the kit once had it of vLLM."""
    off: dict[bool, list[float]] = {True: [], False: []}
    for row in read_figures():
        for name in set(row.names) & set(preset_names()) if row.engine == "vllm" else ():
            found, serving = specs()[name].derived, specs()[name].preset.serving
            windows = serving.engine.max_sequences * found.kv_window_bytes_per_sequence
            former = (found.kv_room_bytes_per_replica - windows) // found.kv_bytes_per_token
            off[windows > 0].append(deviation(former, row.theirs.tokens))
    assert min(off[True]) > 5 * BOUND
    assert max(map(abs, off[False])) < BOUND


@pytest.mark.parametrize("name", [name for name in preset_names() if specs()[name].derived.host_tier_bytes_per_replica])
def test_the_host_tier_holds_what_the_engine_says(name: str) -> None:
    tiers = [tier for tier in read_host_tiers() if name in tier.names]
    assert [tier.engine for tier in tiers] == [specs()[name].rows.engine.kind], STALE
    assert max(map(abs, tier_deviations(tiers[0], specs()))) <= BOUND


def test_the_plain_division_of_a_host_tier_would_be_refused() -> None:
    """Bytes over those of a token in full layers: right for vLLM alone, and not with a drafter."""
    off = {}
    for tier in read_host_tiers():
        spec = specs()[tier.names[0]]
        plain = spec.derived.host_tier_bytes_per_replica // spec.derived.kv_bytes_per_token
        whole = tier.engine == "vllm" and spec.rows.drafter is None
        off.setdefault(whole, []).append(deviation(plain, tier.tokens))
    assert max(map(abs, off[True])) <= BOUND
    assert min(off[False]) > 5 * BOUND


def test_a_deviation_is_seen() -> None:
    """Of a figure that is two percent lower."""
    row = rows_of("g4-llmd")[0]
    assert deviations(row, specs()) == [0.0] * len(row.stacks)
    assert deviation(row.theirs.tokens * 98 // 100, row.theirs.tokens) < -BOUND
