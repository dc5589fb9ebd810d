"""Names and labels of everything the kit puts into a cluster.

Objects are named for their role (``engine``, ``router``), not for the model: a cluster holds one stack, and a role
reads the same in every log, metric and command. Objects whose content cannot be changed in place (an immutable
ConfigMap, a PersistentVolume) carry a hash of it, so that new content is a new object and whoever uses it notices.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from stacks.resolve import StackSpec

__all__ = [
    "ENGINE",
    "ENGINE_WORKER",
    "GATEWAY",
    "LOCAL_SSD",
    "ROUTER",
    "WEIGHTS",
    "content_name",
    "engine_namespace",
    "labels",
    "metadata",
    "selector",
    "weights_google_service_account",
    "weights_namespace",
]

ENGINE = "engine"
ENGINE_WORKER = "engine-worker"
"""Pods of a replica over several nodes that serve no API; selectors of the component ``engine`` pass them over."""
ROUTER = "router"
WEIGHTS = "weights"
GATEWAY = "gateway"
LOCAL_SSD = "local-ssd"

_HASH_LENGTH = 10


def engine_namespace(spec: StackSpec) -> str:
    """Namespace of engine, router, gateway and monitoring."""
    return spec.preset.serving.namespace


def weights_namespace(spec: StackSpec) -> str:
    """Namespace of the seeding pods; it has a laxer Pod Security level (see ``manifests.namespaces``)."""
    return f"{spec.preset.serving.namespace}-weights"


def weights_google_service_account(spec: StackSpec) -> str:
    """Email of the Google service account that the seeding pods act as."""
    return f"{spec.prefix}-weights@{spec.settings.project}.iam.gserviceaccount.com"


def selector(spec: StackSpec, component: str) -> dict[str, str]:
    """The two labels that find a component's pods. Selectors cannot be changed later, so they hold nothing else."""
    return {"app.kubernetes.io/instance": spec.name, "app.kubernetes.io/component": component}


def labels(spec: StackSpec, component: str) -> dict[str, str]:
    """Labels of a component's objects and pods."""
    return {**selector(spec, component), "app.kubernetes.io/part-of": "beamline"}


def metadata(spec: StackSpec, name: str, *, component: str, namespace: str | None = None) -> dict[str, Any]:
    """Metadata of an object: in the engine's namespace unless another is given."""
    return {
        "name": name,
        "namespace": namespace or engine_namespace(spec),
        "labels": labels(spec, component),
    }


def content_name(name: str, content: Any) -> str:
    """Name with a hash of the content it stands for."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return f"{name}-{hashlib.sha256(canonical.encode()).hexdigest()[:_HASH_LENGTH]}"
