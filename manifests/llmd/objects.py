"""All objects of an llm-d stack's serving area: llm-d's own kinds, the pool, the engines and the router."""

from __future__ import annotations

from manifests.crd_files import definitions
from manifests.engine import engine
from manifests.llmd.inference_pool import inference_pool
from manifests.llmd.objectives import objectives
from manifests.llmd.router import router
from manifests.llmd.tokenizing import tokenizing_service
from manifests.objects import KubernetesObject
from manifests.scaling import scaling
from stacks.resolve import StackSpec

__all__ = ["llmd_objects"]


def llmd_objects(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """Return them in the order in which they can be applied."""
    return (
        *definitions(),
        inference_pool(spec),
        *engine(spec),
        *scaling(spec),
        *tokenizing_service(spec),
        *objectives(spec),
        *router(spec),
    )
