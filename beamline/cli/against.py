"""A plan against what is applied: the stack's exported state, and what would become of each guarded resource."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from beamline.cli.changes import Change, apply
from beamline.cli.planning import Plan, plan_stack
from beamline.cli.selection import Selection, in_simulated_project
from guard import (
    PROVIDER,
    UNKNOWN,
    Deployment,
    Recorded,
    Verdict,
    Wanted,
    is_guarded,
    judge_all,
    read_state,
    refusals,
    unused_names,
)
from stacks import Problem, ProblemsFound, ordered
from stacks.cloud import SANDBOX_PROJECT
from stacks.settings import NAMESPACE
from stacks.urns import Identity, alias_urn

if TYPE_CHECKING:
    from beamline.engine import Alias, Resource, Value

__all__ = ["Compared", "allowing", "compare", "read_deployment"]

_ALLOWED = "allow_replace"


@dataclass(frozen=True)
class Compared:
    """A plan beside a state. ``verdicts`` are about guarded resources; the rest is only counted."""

    plan: Plan
    verdicts: Sequence[Verdict]
    new: int
    """Other resources that the state does not have."""
    gone: int
    """Other resources that the plan does not have."""
    simulated: bool
    """The state is a sandbox's."""

    @property
    def problems(self) -> Sequence[Problem]:
        """Everything that was found, the plan's own problems included."""
        return self.plan.problems


def allowing(names: Sequence[str], selection: Selection) -> Selection:
    """Return the stack with further names under ``allow_replace``, for this run."""
    written = selection.config.get(f"{NAMESPACE}:{_ALLOWED}") or []
    if not names or not isinstance(written, list):
        return selection  # what is no list is refused where settings are read
    change = Change(_ALLOWED, [*written, *(name for name in names if name not in written)])
    return replace(selection, config=apply(change, selection.config))


def read_deployment(path: Path, selection: Selection) -> Deployment:
    """Read a state file; raises ``ProblemsFound`` when it is none, or another stack's."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        text = "{"  # like anything else that is not JSON
    found = read_state(text, str(path))
    if found.stack and (found.stack, found.project) != (selection.name, NAMESPACE):
        raise ProblemsFound([_of_another_stack(found, selection, path)])
    return found


def compare(selection: Selection, deployment: Deployment, state: Path) -> Compared:
    """Plan the stack as an engine would that knows this state, and judge what would change."""
    simulated = any(resource.outputs.get("project") == SANDBOX_PROJECT for resource in deployment.resources)
    if simulated:
        selection = in_simulated_project(selection)
    planned = plan_stack(selection, recall=_Memory(deployment).recall)
    if planned.graph is None or planned.spec is None:
        return Compared(planned, (), 0, 0, simulated)
    wanted = [_wanted(resource) for resource in planned.graph.resources if _is_in_a_cloud(resource)]
    verdicts = [verdict for verdict in judge_all(deployment.resources, wanted) if is_guarded(verdict.type)]
    allowed = planned.spec.settings.allow_replace
    problems = [
        *planned.problems,
        *refusals(verdicts, allowed, selection.where),
        *unused_names(verdicts, allowed, selection.where),
        *_pending(deployment, state),
    ]
    before = {resource.urn for resource in deployment.resources if not is_guarded(resource.type)}
    after = {resource.urn for resource in wanted if not is_guarded(resource.type)}
    return Compared(
        replace(planned, problems=tuple(ordered(problems))),
        verdicts,
        len(after - before),
        len(before - after),
        simulated,
    )


class _Memory:
    """What an engine with this state answers for a resource that it would not make anew."""

    def __init__(self, deployment: Deployment) -> None:
        self._recorded: Mapping[str, Recorded] = {resource.urn: resource for resource in deployment.resources}

    def recall(self, resource: Resource) -> tuple[str, Mapping[str, Value]] | None:
        recorded = self._recorded.get(resource.urn)
        if recorded is None:
            return None
        verdicts = judge_all([recorded], [_wanted(resource)])
        if any(verdict.operation == "replace" for verdict in verdicts):
            return None
        return recorded.id, {key: _to_engine(value) for key, value in recorded.outputs.items()}


def _is_in_a_cloud(resource: Resource) -> bool:
    return resource.custom and not resource.type.startswith(PROVIDER)


def _wanted(resource: Resource) -> Wanted:
    stack, project = resource.urn.split("::")[0].rpartition(":")[2], resource.urn.split("::")[1]
    own = Identity(stack, project, resource.type, resource.name, resource.parent)
    return Wanted(
        urn=resource.urn,
        inputs={key: _from_engine(value) for key, value in resource.inputs.items()},
        ignored=resource.ignore_changes,
        aliases=tuple(alias.urn or _former(alias, own) for alias in resource.aliases),
    )


def _former(alias: Alias, own: Identity) -> str:
    former = Identity(alias.stack, alias.project, alias.type, alias.name, alias.parent_urn)
    return alias_urn(own, former, no_parent=alias.no_parent)


def _from_engine(value: Value) -> Any:
    from beamline.engine import Secret, Unknown  # noqa: PLC0415 - Pulumi takes a second to import

    if isinstance(value, Unknown | Secret):
        return UNKNOWN
    if isinstance(value, Mapping):
        return {key: _from_engine(item) for key, item in value.items()}
    return [_from_engine(item) for item in value] if isinstance(value, list) else value


def _to_engine(value: Any) -> Value:
    from beamline.engine import UNKNOWN as UNKNOWN_TO_ENGINE  # noqa: PLC0415

    if value is UNKNOWN:
        return UNKNOWN_TO_ENGINE
    if isinstance(value, Mapping):
        return {key: _to_engine(item) for key, item in value.items()}
    return [_to_engine(item) for item in value] if isinstance(value, list) else value


def _of_another_stack(found: Deployment, selection: Selection, path: Path) -> Problem:
    return Problem(
        rule="state-of-another-stack",
        path="--against",
        value=f"{found.project}/{found.stack}",
        why="every resource of a stack carries its name, so nothing of this state could be found in the plan",
        allowed=f"a state of {NAMESPACE}/{selection.name}",
        remedy=f"pulumi stack export --stack {selection.name} --file STATE.json, or plan {found.stack}",
        where=str(path),
        source="Pulumi docs, resource names",
    )


def _pending(deployment: Deployment, path: Path) -> Iterator[Problem]:
    if deployment.pending:
        yield Problem(
            rule="state-pending",
            path="--against",
            value=deployment.pending,
            why="these operations were begun and not ended, and what they did is not in the state",
            remedy=f"beamline recover {deployment.stack}, then export the state again",
            where=str(path),
            source="Pulumi docs, pending operations",
            severity="warning",
        )
