"""What a stack has chosen of each union, as the type that the code for it needs."""

from __future__ import annotations

from stacks.resolve import StackSpec
from stacks.rows import DynamoRelease, LlmdRelease
from stacks.spec import DynamoRouter, LlmdRouter, PrefixAndLoad, SglangEngine, VllmEngine

__all__ = [
    "by_prefix",
    "dynamo_release",
    "dynamo_router",
    "llmd_release",
    "llmd_router",
    "publishes_events",
    "sglang_engine",
    "vllm_engine",
]


def llmd_release(spec: StackSpec) -> LlmdRelease:
    """Return the llm-d release; raises ``TypeError`` for a stack with another router."""
    if not isinstance(spec.rows.release, LlmdRelease):
        raise TypeError(f"{spec.name} has no llm-d router but {spec.rows.release.kind}")
    return spec.rows.release


def dynamo_release(spec: StackSpec) -> DynamoRelease:
    """Return the Dynamo release; raises ``TypeError`` for a stack with another router."""
    if not isinstance(spec.rows.release, DynamoRelease):
        raise TypeError(f"{spec.name} has no Dynamo but {spec.rows.release.kind}")
    return spec.rows.release


def llmd_router(spec: StackSpec) -> LlmdRouter:
    """Return what the preset says about its llm-d router; raises ``TypeError`` for a stack with another router."""
    if not isinstance(spec.preset.serving.router, LlmdRouter):
        raise TypeError(f"{spec.name} has no llm-d router but {spec.preset.serving.router.kind}")
    return spec.preset.serving.router


def dynamo_router(spec: StackSpec) -> DynamoRouter:
    """Return what the preset says about its Dynamo router; raises ``TypeError`` for a stack with another router."""
    if not isinstance(spec.preset.serving.router, DynamoRouter):
        raise TypeError(f"{spec.name} has no Dynamo but {spec.preset.serving.router.kind}")
    return spec.preset.serving.router


def by_prefix(spec: StackSpec) -> bool:
    """Whether the router looks at what replicas have cached."""
    return isinstance(spec.preset.serving.routing.policy, PrefixAndLoad)


def publishes_events(spec: StackSpec) -> bool:
    """Whether engines tell the router what they cache and evict."""
    return spec.preset.serving.routing.listens


def vllm_engine(spec: StackSpec) -> VllmEngine:
    """Return what the preset says about vLLM; raises ``TypeError`` for a stack with another engine."""
    if not isinstance(spec.preset.serving.engine, VllmEngine):
        raise TypeError(f"{spec.name} does not run vLLM but {spec.preset.serving.engine.kind}")
    return spec.preset.serving.engine


def sglang_engine(spec: StackSpec) -> SglangEngine:
    """Return what the preset says about SGLang; raises ``TypeError`` for a stack with another engine."""
    if not isinstance(spec.preset.serving.engine, SglangEngine):
        raise TypeError(f"{spec.name} does not run SGLang but {spec.preset.serving.engine.kind}")
    return spec.preset.serving.engine
