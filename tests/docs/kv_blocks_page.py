"""docs/kv-blocks.md: what the engines make of the bytes that the kit leaves for KV cache, and what the kit says."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from beamline.sandbox.home import CHECKOUT
from bench.kv_blocks import (
    BOUND,
    FILE,
    EngineFigures,
    deviations,
    ours,
    read_figures,
    read_host_tiers,
    tier_deviations,
)
from stacks.parallelism import data_parallel
from stacks.preset_files import preset_names
from stacks.resolve import StackSpec
from stacks.wording import some
from tests.engines.asking import every_spec
from tests.engines.sizes import SIZES

__all__ = ["KV_BLOCKS", "kv_blocks_page"]

KV_BLOCKS = CHECKOUT / "docs" / "kv-blocks.md"
_INTRODUCTION = """\
# KV blocks

Generated from `bench/kv_figures.json` by `make golden`: do not edit. `make kv-figures` asks the engines again.

What vLLM {vllm} and SGLang {sglang} make of the bytes that the kit leaves for KV cache on one GPU, by their own code
without a GPU ({as_of}), and what `beamline size` and `plan` say of the same bytes (`stacks/kv_blocks.py`). The bound is
{bound:.0%}, either way; the largest deviation is {largest:.2%}. `make test-engines` asks the engines again and refuses
more; `make test` holds the figures of every preset against the committed ones.

Measured is the division, not the bytes: what weights and the engine itself leave of a GPU is computed from the catalog
([sizing.md](sizing.md)), and no engine has run on one here. Checkpoints have the layers of the catalog's rows, and no
weights.

- **vLLM** cuts layers into groups of one size, that of the rarest kind, and fills the last one up: Beam's 9 full and 43
  sliding layers are 6 groups of 9; with the drafter's 5 layers, whose window is their own, they are 12 groups of 5, for
  10 full and 45 sliding ones. A request takes blocks of every group: of sliding ones for its window and two batches.
- **SGLang** has a pool for full layers and one for sliding ones, which is `swa_full_tokens_ratio` of it where prefixes
  are kept. Decode workers keep none: they have the windows of their running requests, and full layers get the rest.
- **A drafter's cache** has the target's elements in both. vLLM keeps its window alone; SGLang keeps every token.
"""
_COLUMNS = ("stacks", "engine", "bytes a rank", "tokens, the engine", "tokens, the kit", "deviation", "with")
_RULE = ("---", "---", "---:", "---:", "---:", "---:", "---")


_HOST_TIERS = """\
Tokens of a data parallel rank, by their full layers. vLLM keeps blocks of whole groups, so a drafter costs here, too;
what it keeps of windows comes out of these. SGLang divides the tier among its pools as GPU memory is divided, in whole
GB a rank; a drafter's state beside it is not in the figures. Tiers on local SSD were not measured: their sizes are
divided by the bytes of a token in full layers."""


def kv_blocks_page() -> str:
    """Return the page."""
    specs, rows, head = every_spec(), read_figures(), json.loads(FILE.read_text(encoding="utf-8"))
    largest = max((abs(each) for row in rows for each in deviations(row, specs)), default=0.0)
    shipped = set(preset_names())
    return "\n".join(
        [
            _INTRODUCTION.format(**head["versions"], as_of=head["as_of"], bound=BOUND, largest=largest),
            "## Presets",
            "",
            *_table(rows, specs, shipped),
            "",
            "## Other sizes",
            "",
            "Presets with one size changed (`tests/engines/sizes.py`): the arithmetic is not fitted to presets alone.",
            "",
            *_table(rows, specs, set(SIZES)),
            "",
            "## Tiers in host memory",
            "",
            _HOST_TIERS,
            "",
            *_tiers(specs, shipped),
            "",
        ]
    )


def _table(rows: Iterable[EngineFigures], specs: Mapping[str, StackSpec], names: set[str]) -> list[str]:
    shown = ((sorted(stack for stack in row.stacks if stack.partition("/")[0] in names), row) for row in rows)
    lines = sorted((", ".join(stacks), *_cells(row, specs)) for stacks, row in shown if stacks)
    return [f"| {' | '.join(line)} |" for line in (_COLUMNS, _RULE, *lines)]


def _tiers(specs: Mapping[str, StackSpec], names: set[str]) -> list[str]:
    lines = []
    for tier in read_host_tiers():
        stacks, spec = sorted(set(tier.stacks) & names), specs[tier.names[0]]
        if stacks:
            tokens = spec.derived.host_tier_tokens_per_replica // data_parallel(spec.preset.serving)
            figures = (f"{tier.tokens:,}", f"{tokens:,}", f"{tier_deviations(tier, specs)[0]:+.2%}")
            lines.append((", ".join(stacks), tier.engine, f"{spec.derived.host_tier_bytes_per_replica:,}", *figures))
    head = ("stacks", "engine", "bytes a replica", "tokens, the engine", "tokens, the kit", "deviation")
    return [f"| {' | '.join(line)} |" for line in (head, _RULE[:-1], *sorted(lines))]


def _cells(row: EngineFigures, specs: Mapping[str, StackSpec]) -> tuple[str, ...]:
    tokens = ours(_spec(row, specs), decodes_only=row.decodes_only).tokens
    figures = (row.bytes_per_rank, row.theirs.tokens, tokens)
    return (row.engine, *(f"{figure:,}" for figure in figures), f"{deviations(row, specs)[0]:+.2%}", _parts(row))


def _spec(row: EngineFigures, specs: Mapping[str, StackSpec]) -> StackSpec:
    return specs[row.names[0]]


def _parts(row: EngineFigures) -> str:
    parts = row.parts
    if row.engine == "vllm":
        return f"{parts['blocks']:,} blocks, {some(parts['groups'], 'group')}"
    drafter = parts["drafter_bytes_per_token"]
    told = f", drafter {drafter:,} B a token by {parts['drafter_backend']}" if drafter else ""
    return f"{parts['window_tokens']:,} tokens of sliding layers{told}"
