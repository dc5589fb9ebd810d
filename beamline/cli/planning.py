"""From a selected stack to its resource graph, in this process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from beamline.cli.changes import Change, apply
from beamline.cli.selection import Selection
from stacks import ProblemsFound, StackSpec, ordered, resolve
from stacks.catalog_files import load_catalog
from stacks.derive import derive
from stacks.evidence import feature_names
from stacks.merging import merge
from stacks.preset_files import compose
from stacks.problems import Problem
from stacks.row_lookup import look_up
from stacks.settings import NAMESPACE, STACKS_DIR, pulumi_config
from stacks.spec import Preset
from stacks.state_secrets import state_secrets_problems
from stacks.yaml_files import read_yaml

if TYPE_CHECKING:
    from beamline.engine.graph import Graph
    from beamline.engine.monitor import Recall

__all__ = ["CHECKOUT", "Plan", "accepting", "plan_stack", "resolved"]

_NEEDS_ACCEPTANCE = "unverified-feature"

CHECKOUT = STACKS_DIR.parent
"""The folder of the Pulumi program."""


@dataclass(frozen=True)
class Plan:
    """What is known of a stack: everything, or, when it has errors, only the problems."""

    selection: Selection
    spec: StackSpec | None
    graph: Graph | None
    problems: tuple[Problem, ...]


def resolved(selection: Selection) -> StackSpec:
    """Return the checked stack; raises ``ProblemsFound``."""
    try:
        return resolve(selection.name, pulumi_config(selection.config), where=selection.where, applying=False)
    except ProblemsFound as found:
        raise ProblemsFound(selection.blamed(found.problems)) from found


def accepting(selection: Selection) -> Selection:
    """Return a preset's stack with all accepted that it has no evidence for: what is shown, and not applied.

    A stack in which anything else is wrong is returned as it is.
    """
    try:
        resolved(selection)
    except ProblemsFound as found:
        if {p.rule for p in found.problems if p.severity == "error"} != {_NEEDS_ACCEPTANCE}:
            return selection
        spec = resolved(_accepting(selection, _feature_names(selection)))
        return _accepting(selection, [f.name for f in spec.features if f.status == "unverified"])
    return selection


def _accepting(selection: Selection, names: Sequence[str]) -> Selection:
    return replace(selection, config=apply(Change("accept_unverified", list(names)), selection.config))


def _feature_names(selection: Selection) -> list[str]:
    data, origins = compose(selection.preset or "", key="preset", where=selection.where)
    overrides = selection.config.get(f"{NAMESPACE}:overrides", {})
    preset = Preset.model_validate(merge(data, overrides, origins, selection.where))
    rows = look_up(preset, load_catalog(), [])
    return feature_names(preset, rows.checkpoint.precision, derive(preset, rows)) if rows else []


def plan_stack(selection: Selection, *, recall: Recall | None = None) -> Plan:
    """Check the stack and run the program; never raises for what is wrong with the stack.

    ``recall`` knows what is applied already.
    """
    try:
        spec = resolved(selection)
    except ProblemsFound as found:
        return Plan(selection, None, None, tuple(found.problems))
    problems = selection.blamed([*spec.problems, *_of_state(selection, spec)])
    try:
        graph = _graph(selection, recall)
    except ProblemsFound as found:
        return Plan(selection, spec, None, tuple(ordered([*problems, *selection.blamed(found.problems)])))
    return Plan(selection, spec, graph, tuple(ordered(problems)))


def _of_state(selection: Selection, spec: StackSpec) -> list[Problem]:
    """What the stack file says of the state's secrets; a preset has no state."""
    if selection.file is None or not selection.file.is_file():
        return []
    return state_secrets_problems(
        read_yaml(selection.file),
        os.environ,
        project=spec.settings.project,
        applying=False,
        where=selection.where,
    )


def _graph(selection: Selection, recall: Recall | None) -> Graph:
    # Pulumi and its SDKs take a second to import; a stack with mistakes is answered without.
    from beamline.engine import run_program  # noqa: PLC0415

    return run_program(CHECKOUT, project=NAMESPACE, stack=selection.name, config=selection.config, recall=recall)
