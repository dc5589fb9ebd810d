"""The kit's tokens are within the bound of what the engines make of the same bytes today."""

from __future__ import annotations

from typing import Any

from bench.kv_blocks import BOUND, FILE, deviations, tier_deviations
from tests.engines.asking import every_spec
from tests.engines.kv_figures import figures_text, host_tiers, measured

Answers = dict[str, dict[str, Any]]


def test_the_kit_divides_as_the_engines_do(answers: Answers) -> None:
    """Every preset, every feature and odd sizes."""
    specs = every_spec()
    off = {row.stacks: deviations(row, specs) for row in measured(answers)}
    assert {name.partition("/")[0] for stacks in off for name in stacks} == set(specs)
    assert {stacks: each for stacks, each in off.items() if max(map(abs, each)) > BOUND} == {}


def test_host_tiers_hold_what_the_kit_says(answers: Answers) -> None:
    specs = every_spec()
    off = {tier.stacks: tier_deviations(tier, specs) for tier in host_tiers(answers)}
    assert len(off) > 1
    assert {stacks: each for stacks, each in off.items() if max(map(abs, each)) > BOUND} == {}


def test_the_committed_figures_are_the_engines(answers: Answers) -> None:
    """A figure that somebody wrote by hand is found here."""
    assert FILE.read_text(encoding="utf-8") == figures_text(answers), "if right: make kv-figures"
