"""What stands behind the Gateway's route: llm-d's pool of engines or its Envoy, or a Dynamo graph's frontends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from manifests.chosen import dynamo_release, llmd_release
from manifests.dynamo import FRONTEND, frontend_reference
from manifests.llmd.envoy import envoy_reference, has_envoy
from manifests.llmd.envoy_bootstrap import READY_PATH
from manifests.llmd.inference_pool import pool_reference
from manifests.naming import ROUTER
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


def _llmd(spec: StackSpec) -> Backend:
    return _envoy(spec) if has_envoy(spec) else _pool(spec)


def _envoy(spec: StackSpec) -> Backend:
    return Backend(
        ROUTER, envoy_reference(spec), _service(ROUTER), llmd_release(spec).proxy.health_port, health_path=READY_PATH
    )


def _service(name: str) -> dict[str, Any]:
    return {"group": "", "kind": "Service", "name": name}


def _pool(spec: StackSpec) -> Backend:
    reference = pool_reference(spec)
    found = Backend(reference["name"], reference, reference, spec.derived.engine_port)
    # The proxy before decode engines answers /health by itself, and hands on what it does not know.
    return replace(found, health_path="/v1/models") if len(spec.roles) > 1 else found


def _frontends(spec: StackSpec) -> Backend:
    return Backend(FRONTEND, frontend_reference(spec), _service(FRONTEND), dynamo_release(spec).ports.frontend)


_BACKENDS: dict[str, Callable[[StackSpec], Backend]] = {"llm-d": _llmd, "dynamo": _frontends}
"""By router stack."""


def backend(spec: StackSpec) -> Backend:
    """Return what routes and policies name."""
    return _BACKENDS[spec.preset.serving.router.kind](spec)
