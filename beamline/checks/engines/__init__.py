"""Engine containers against what their engine takes: flags, values, JSON documents, variables, GPUs.

What the engines take was read off their own code (stacks/catalog/engine_flags), so no engine is needed here. Values
that depend on each other, and on the model, are the business of ``stacks.checks``; ``make test-engines`` asks the
engines themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

from beamline.checks.engines.containers import EngineContainer, started_containers
from beamline.checks.engines.flags import flag_problems
from beamline.checks.engines.ranks import rank_problems
from beamline.checks.engines.schemas import missing_version, schema_of
from beamline.checks.engines.variables import (
    reference_problems,
    service_link_problems,
    shell_form_problems,
    variable_problems,
)
from beamline.engine.graph import Graph
from stacks.problems import Problem

__all__ = ["engine_problems"]


def engine_problems(graph: Graph) -> list[Problem]:
    """Return everything that engines would refuse, or ignore in silence, in the containers of a graph."""
    return [problem for container in started_containers(graph) for problem in _judged(container, graph)]


def _judged(container: EngineContainer, graph: Graph) -> Iterator[Problem]:
    yield from shell_form_problems(container)
    if not container.program:
        return
    yield from reference_problems(container)
    schema = schema_of(container)
    if schema is None:
        yield _unread(container)
        return
    yield from flag_problems(container, schema)
    yield from rank_problems(container, schema)
    yield from variable_problems(container, schema)
    yield from service_link_problems(container, schema, graph)


def _unread(container: EngineContainer) -> Problem:
    kind, version, known = missing_version(container)
    return Problem(
        rule="engine-flags-unread",
        path=f"{container.path}.image",
        value=container.image,
        why=f"what {kind} {version} takes was never read off, so nothing judges this command line and environment",
        allowed=", ".join(known),
        remedy="add the version to requirements-engines-bare.in, then: make lock-requirements engine-flags",
        where=container.urn,
        source="stacks/catalog/engine_flags",
        severity="warning",
    )
