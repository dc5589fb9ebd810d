"""What the kit knows of engines without one: how soon, and how truly. ``python -m bench.engines``.

It needs no sandbox, so it runs by itself, in half a minute.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping

from beamline.checks.engines import engine_problems
from beamline.cli.output import show, table
from beamline.cli.planning import Plan, accepting, plan_stack
from beamline.cli.selection import select_preset
from beamline.engine.graph import Graph
from bench.kv_blocks import BOUND, deviations, read_figures
from bench.page import COLUMNS, RIGHT, cells
from bench.pairs import repeat
from bench.rows import Goal, Question, Row, any_broken
from stacks import StackSpec
from stacks.preset_files import preset_names
from stacks.problems import EnvironmentProblem

__all__ = ["ENGINES", "engines"]

FLAGS = Question(
    name="flags and variables of all presets, s",
    first="Every engine container of every preset's plan against the committed schemas, in this process.",
    second="",
    goal=Goal(0.5),
    notes="Planning is not in it. The first run also reads the schemas. It is checked that nothing is refused.",
)
TOKENS = Question(
    name="KV tokens off the engines' own, %",
    first="The largest deviation, over all presets, of the kit's KV tokens from those that the engines' own code made "
    "of the same bytes (bench/kv_figures.json).",
    second="",
    goal=Goal(100 * BOUND),
    notes="No speed. The table is docs/kv-blocks.md.",
)
ENGINES = (FLAGS, TOKENS)
"""The questions answered here, in the order of the table."""


def engines(runs: int) -> Iterator[Row]:
    """Answer ``ENGINES``, one row at a time."""
    plans = {name: plan_stack(accepting(select_preset(name))) for name in preset_names()}
    graphs = [_graph(plan) for plan in plans.values()]
    yield Row(FLAGS, repeat(lambda: _checking(graphs), runs, "s"))
    specs = {name: plan.spec for name, plan in plans.items() if plan.spec is not None}
    yield Row(TOKENS, repeat(lambda: _largest_percent(specs), 1, "%"))


def _graph(plan: Plan) -> Graph:
    if plan.graph is None:
        raise EnvironmentProblem(f"{plan.selection.name} has no plan: {plan.problems[0].why}")
    return plan.graph


def _checking(graphs: list[Graph]) -> float:
    began = time.perf_counter()
    problems = [problem for graph in graphs for problem in engine_problems(graph)]
    took = time.perf_counter() - began
    if problems:
        raise EnvironmentProblem(f"{problems[0].path}: {problems[0].why}")
    return took


def _largest_percent(specs: Mapping[str, StackSpec]) -> float:
    return 100 * max(abs(each) for row in read_figures() for each in deviations(row, specs))


if __name__ == "__main__":
    rows = list(engines(int(sys.argv[1]) if sys.argv[1:] else 5))
    show(table(COLUMNS, [cells(row) for row in rows], right=RIGHT, long=("what",)))
    sys.exit(any_broken(rows))
