"""All objects of a stack, in the order in which they can be applied."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import get_args

from manifests.backend_policies import backend_policy, health_check
from manifests.dynamo import dynamo_objects
from manifests.fabric import fabric
from manifests.gateway import gateway, route
from manifests.kv_tier import kv_tier_objects
from manifests.llmd.objects import llmd_objects
from manifests.local_ssd import local_ssd
from manifests.monitoring import monitoring
from manifests.namespaces import namespaces
from manifests.network_policies import network_policies
from manifests.objects import Area, KubernetesObject
from manifests.seeding import seeding
from manifests.tier_evictor import evictor_objects
from manifests.weight_volume import weight_volume
from stacks.resolve import StackSpec

__all__ = ["render"]

_SERVING: dict[str, Callable[[StackSpec], tuple[KubernetesObject, ...]]] = {
    "llm-d": llmd_objects,
    "dynamo": dynamo_objects,
}
"""By router stack."""


def render(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """Return the stack's Kubernetes objects; the same spec always gives the same objects in the same order.

    An object comes after everything it names in ``after``. With ``wait: accepted`` none of them is waited for.
    """
    found = (
        *namespaces(spec),
        *network_policies(spec),
        *fabric(spec),
        *local_ssd(spec),
        *seeding(spec),
        *weight_volume(spec),
        *kv_tier_objects(spec),
        *evictor_objects(spec),
        *_SERVING[spec.preset.serving.router.kind](spec),
        gateway(spec),
        health_check(spec),
        backend_policy(spec),
        route(spec),
        *monitoring(spec),
    )
    objects = tuple(sorted(found, key=lambda item: get_args(Area).index(item.area)))
    return objects if spec.preset.serving.wait == "ready" else tuple(_unwaited(o) for o in objects)


def _unwaited(resource: KubernetesObject) -> KubernetesObject:
    return replace(resource, timeout_s=None, update_timeout_s=None, wait_for=(), await_ready=False)
