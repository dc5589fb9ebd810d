"""Files that pods mount and read once, at start: nobody can change one, and another content is another object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from manifests.naming import metadata
from manifests.objects import KubernetesObject
from stacks.resolve import StackSpec

__all__ = ["fixed_files"]


def fixed_files(
    spec: StackSpec, name: str, files: Mapping[str, str], *, called: str, component: str
) -> KubernetesObject:
    """Return the ConfigMap with ``files``, ``called`` by their content, so that pods are made anew for another one."""
    body: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(spec, called, component=component),
        "immutable": True,
        "data": dict(files),
    }
    return KubernetesObject(area="serving", name=name, body=body)
