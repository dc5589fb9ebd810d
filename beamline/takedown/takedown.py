"""Taking a stack down for good: unprotected, destroyed, and looked at again.

``pulumi destroy`` alone refuses a production stack, one protected resource after the other, and would stop half-way at
a cluster that the provider itself guards. All of that is known from the state beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from beamline.recovery import Engine
from guard import Deployment, Recorded, is_guarded, read_state
from stacks.problems import Problem, ProblemsFound, has_errors

__all__ = ["Takedown", "take_down", "takedown"]

_CLUSTER = "gcp:container/cluster:Cluster"
_POOL = "gcp:container/nodePool:NodePool"


@dataclass(frozen=True)
class Takedown:
    """What taking a stack down means."""

    stack: str
    resources: int
    """Resources that the engine would delete."""
    guarded: Sequence[str]
    """Names of clusters, node pools, buckets, volumes and networks among them."""
    protected: Sequence[str]
    """Names of the resources that have to be unprotected first."""
    problems: Sequence[Problem]


def takedown(engine: Engine, stack: str) -> Takedown:
    """Return what would be taken down, from the stack's state."""
    deployment = _state(engine, stack)
    resources = deployment.resources
    return Takedown(
        stack=stack,
        resources=len(resources),
        guarded=sorted(_name(resource) for resource in resources if is_guarded(resource.type)),
        protected=sorted(_name(resource) for resource in resources if resource.protected),
        problems=list(_problems(deployment)),
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
    left = _state(engine, known.stack).resources
    if code != 0 or left:
        raise ProblemsFound([_unfinished(known.stack, left)])


def _state(engine: Engine, stack: str) -> Deployment:
    return read_state(engine.must(stack, "stack", "export"), f"the state of {stack}")


def _problems(deployment: Deployment) -> Iterator[Problem]:
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
                where=f"the state of {deployment.stack}",
                source="Terraform provider, container_cluster",
            )
        profile = (resource.outputs.get("networkConfig") or {}).get("acceleratorNetworkProfile")
        if resource.type == _POOL and profile:
            yield Problem(
                rule="networks-of-gke",
                path=f"{_name(resource)}.networkConfig.acceleratorNetworkProfile",
                value=profile,
                why="GKE made networks for these nodes itself; no state has them, and they may stay",
                remedy="afterwards: gcloud compute networks list, and delete what is left of the cluster",
                where=f"the state of {deployment.stack}",
                source="GKE docs, allocate network resources with DRA",
                severity="note",
            )
    if deployment.pending:
        yield Problem(
            rule="state-pending",
            path="pending operations",
            value=deployment.pending,
            why="these operations were begun and not ended, and what they made is not in the state, so it would stay",
            remedy=f"beamline recover {deployment.stack}, then repeat",
            where=f"the state of {deployment.stack}",
            source="Pulumi docs, pending operations",
            severity="warning",
        )


def _unfinished(stack: str, left: Sequence[Recorded]) -> Problem:
    return Problem(
        rule="destroy-unfinished",
        path=stack,
        value=[_name(resource) for resource in left],
        why="Pulumi could not delete all of the stack; its own words are above. What is left is unprotected now",
        remedy=f"solve what it says and repeat: it goes on where it stopped; to keep it: pulumi up --stack {stack}",
        source="Pulumi engine",
    )


def _name(resource: Recorded) -> str:
    return resource.urn.rpartition("::")[2]
