"""All third-party charts of a stack, in the order in which they can be installed."""

from __future__ import annotations

from typing import get_args

from manifests.dynamo import dynamo_releases
from manifests.fabric import fabric_releases
from manifests.leader_worker_set import leader_worker_set_releases
from manifests.objects import Area, HelmRelease
from stacks.resolve import StackSpec

__all__ = ["releases"]


def releases(spec: StackSpec) -> tuple[HelmRelease, ...]:
    """Return the stack's Helm releases, by area; what each comes after is in its ``after``."""
    found = (*fabric_releases(spec), *leader_worker_set_releases(spec), *dynamo_releases(spec))
    return tuple(sorted(found, key=lambda release: get_args(Area).index(release.area)))
