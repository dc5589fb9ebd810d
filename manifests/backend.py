"""What stands behind the Gateway's route: llm-d's pool of engines, or the frontends of a Dynamo graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from manifests.chosen import dynamo_release
from manifests.dynamo import FRONTEND, frontend_reference
from manifests.llmd.inference_pool import pool_reference
from stacks.resolve import StackSpec

__all__ = ["Backend", "backend"]


@dataclass(frozen=True)
class Backend:
    """``reference`` is for routes, ``target`` for policies; healthy pods answer ``health_path`` on ``health_port``."""

    name: str
    reference: Mapping[str, Any]
    target: Mapping[str, Any]
    health_port: int
    health_path: str = "/health"


def _pool(spec: StackSpec) -> Backend:
    reference = pool_reference(spec)
    found = Backend(reference["name"], reference, reference, spec.derived.engine_port)
    # The proxy before decode engines answers /health by itself, and hands on what it does not know.
    return replace(found, health_path="/v1/models") if len(spec.roles) > 1 else found


def _frontends(spec: StackSpec) -> Backend:
    target = {"group": "", "kind": "Service", "name": FRONTEND}
    return Backend(FRONTEND, frontend_reference(spec), target, dynamo_release(spec).ports.frontend)


_BACKENDS: dict[str, Callable[[StackSpec], Backend]] = {"llm-d": _pool, "dynamo": _frontends}
"""By router stack."""


def backend(spec: StackSpec) -> Backend:
    """Return what routes and policies name."""
    return _BACKENDS[spec.preset.serving.router.kind](spec)
