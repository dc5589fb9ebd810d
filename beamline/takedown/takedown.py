"""Taking a stack down for good: unprotected, destroyed, and looked at again.

``pulumi destroy`` alone refuses a production stack, one protected resource after the other, and would stop half-way at
a cluster that the provider itself guards. All of that is known from the state beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from beamline.recovery import Engine
from beamline.recovery.findings import IN_DOUBT, PLANNED
from beamline.recovery.state import State
from beamline.recovery.state import read_state as read_whole
from guard import PROVIDER, Deployment, Recorded, is_guarded, read_state
from stacks.problems import Problem, ProblemsFound, has_errors
from stacks.settings import NAMESPACE

__all__ = ["Takedown", "take_down", "takedown"]

_CLUSTER = "gcp:container/cluster:Cluster"
_POOL = "gcp:container/nodePool:NodePool"


@dataclass(frozen=True)
class Takedown:
    """What taking a stack down means."""

    stack: str
    project: str
    backend: str
    """Address of the Pulumi backend that has the stack."""
    resources: int
    """Resources that the engine would delete, those included that it was deleting already."""
    guarded: Sequence[str]
    """Names of clusters, node pools, buckets, volumes and networks among them."""
    protected: Sequence[str]
    """Names of the resources that have to be unprotected first."""
    problems: Sequence[Problem]


def takedown(engine: Engine, stack: str) -> Takedown:
    """Return what would be taken down, from the stack's state.

    Raises ``ProblemsFound`` for a state that is another stack's or project's.
    """
    deployment, state = _state(engine, stack)
    resources = deployment.resources
    return Takedown(
        stack=stack,
        project=NAMESPACE,
        backend=engine.backend(),
        resources=len(resources) + len(_leaving(state)),
        guarded=sorted(_name(resource) for resource in resources if is_guarded(resource.type)),
        protected=sorted(_name(resource) for resource in resources if resource.protected),
        problems=[*_problems(deployment, stack), *_unclear(state, stack)],
    )


def take_down(engine: Engine, known: Takedown) -> None:
    """Unprotect and destroy.

    Raises ``ProblemsFound`` before anything is touched when the destroy would stop half-way, or when it left something.
    """
    if has_errors(known.problems):
        raise ProblemsFound(known.problems)
    if known.protected:
        engine.must(known.stack, "state", "unprotect", "--all", "--yes")
    code = engine.follow(known.stack, "destroy", "--yes", "--skip-preview")
    deployment, state = _state(engine, known.stack)
    pending = [operation.urn for operation in state.operations]
    left = [_last(urn) for urn in [*(each.urn for each in deployment.resources), *_leaving(state), *pending]]
    if code != 0 or left:
        raise ProblemsFound([_unfinished(known.stack, left)])


def _state(engine: Engine, stack: str) -> tuple[Deployment, State]:
    """Return the state, as what a cloud has of it and as the engine keeps it."""
    exported = engine.must(stack, "stack", "export")
    deployment = read_state(exported, f"the state of {stack}")
    return deployment, read_whole(exported, stack, NAMESPACE)


def _leaving(state: State) -> list[str]:
    """Return the URNs of what was replaced or was being deleted, and is still there."""
    return [
        str(each["urn"])
        for each in state.resources
        if each.get("delete") and each.get("custom") and not str(each["type"]).startswith(PROVIDER)
    ]


def _unclear(state: State, stack: str) -> Iterator[Problem]:
    """Yield what the engine would forget, although it may exist."""
    recover = f"beamline recover {stack}, then repeat"
    if state.operations:
        yield Problem(
            rule="state-pending",
            path="pending operations",
            value=[_last(operation.urn) for operation in state.operations],
            why="these operations were begun and not ended, and what they made is not in the state, so it would stay",
            remedy=recover,
            where=f"the state of {stack}",
            source="Pulumi docs, pending operations",
        )
    doubtful = [each for each in state.resources if {IN_DOUBT, PLANNED} & set(each.get("initErrors") or [])]
    if doubtful:
        yield Problem(
            rule="state-in-doubt",
            path="resources in doubt",
            value=[_last(str(each["urn"])) for each in doubtful],
            why="a recovery that was interrupted had begun to look these up: whether they exist, and are the stack's "
            "own, is not known",
            remedy=recover,
            where=f"the state of {stack}",
            source="beamline recover",
        )


def _problems(deployment: Deployment, stack: str) -> Iterator[Problem]:
    for resource in deployment.resources:
        if resource.type == _CLUSTER and resource.outputs.get("deletionProtection") is True:
            yield Problem(
                rule="deletion-protection",
                path=f"{_name(resource)}.deletionProtection",
                value=True,
                why="the provider itself refuses to delete this cluster, when everything in it is gone already",
                allowed="false",
                remedy="pulumi up: the kit switches it off, because Pulumi's protect does the same before anything is "
                "touched; then repeat",
                where=f"the state of {stack}",
                source="Terraform provider, container_cluster",
            )
        networks = resource.outputs.get("networkConfig")
        profile = networks.get("acceleratorNetworkProfile") if isinstance(networks, Mapping) else None
        if resource.type == _POOL and profile:
            yield Problem(
                rule="networks-of-gke",
                path=f"{_name(resource)}.networkConfig.acceleratorNetworkProfile",
                value=profile,
                why="GKE made networks for these nodes itself; no state has them, and they may stay",
                remedy="afterwards: gcloud compute networks list, and delete what is left of the cluster",
                where=f"the state of {stack}",
                source="GKE docs, allocate network resources with DRA",
                severity="note",
            )


def _unfinished(stack: str, left: Sequence[str]) -> Problem:
    return Problem(
        rule="destroy-unfinished",
        path=stack,
        value=list(left),
        why="Pulumi could not delete all of the stack; its own words are above. What is left is unprotected now",
        remedy=f"solve what it says and repeat: it goes on where it stopped; to keep it: pulumi up --stack {stack}",
        source="Pulumi engine",
    )


def _name(resource: Recorded) -> str:
    return _last(resource.urn)


def _last(urn: str) -> str:
    return urn.rpartition("::")[2]
