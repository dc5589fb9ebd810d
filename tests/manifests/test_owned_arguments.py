"""What the kit writes to an engine is what its row says that the kit owns: nobody can write it a second time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stacks.resolve import StackSpec

from .cases import CASES, spec_of
from .cluster_objects import Body, objects_of
from .dynamo.cases import DYNAMO_CASES
from .dynamo.graphs import container, workers

NAMES = [*CASES, *DYNAMO_CASES]


def _engines(case: str) -> Iterator[Body]:
    """Containers of engines, whoever serves their API."""
    objects = objects_of(case)
    if spec_of(case).preset.serving.router.kind == "dynamo":
        yield from (container(worker) for worker in workers(objects))
    else:
        yield from objects.engines()


def _transports(spec: StackSpec) -> set[str]:
    transport, kind = spec.rows.transport, spec.rows.engine.kind
    if transport is None:
        return set()
    of_kv = {name for variables in transport.kv_environment.values() for name in variables}
    return {*transport.environment, *transport.environment_by_engine.get(kind, {}), *of_kv}


@pytest.mark.parametrize("case", NAMES)
def test_every_flag_has_an_owner(case: str) -> None:
    spec = spec_of(case)
    row = spec.rows.engine
    handed_on = spec.preset.serving.engine.extra_arguments
    owned = {*row.owned.arguments, *spec.rows.model.engines[row.kind].arguments, *handed_on}
    written = {
        argument[2:].partition("=")[0]
        for engine in _engines(case)
        for argument in engine["args"]
        if argument.startswith("--")
    }
    assert written - owned == set()


@pytest.mark.parametrize("case", NAMES)
def test_every_variable_has_an_owner(case: str) -> None:
    spec = spec_of(case)
    written = {variable["name"] for engine in _engines(case) for variable in engine["env"]}
    handed_on = spec.preset.serving.engine.extra_environment
    assert written - set(spec.rows.engine.owned.environment) - _transports(spec) - set(handed_on) == set()
