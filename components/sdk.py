"""Which class of Pulumi's SDKs stands for a resource type.

The SDKs carry that table for themselves (to rebuild resources from state); reading it beats a list of kinds of our own,
which would go stale with each SDK release.
"""

import importlib
from typing import Any

import pulumi_gcp
import pulumi_kubernetes
from pulumi.runtime import rpc

__all__ = ["arguments_class", "kubernetes_type", "resource_class"]

PACKAGES = (pulumi_gcp, pulumi_kubernetes)  # importing them fills the table


def kubernetes_type(api_version: str, kind: str) -> str:
    """Return Pulumi's type of a Kubernetes object: ``kubernetes:apps/v1:Deployment``, ``kubernetes:core/v1:Secret``."""
    group_version = api_version if "/" in api_version else f"core/{api_version}"
    return f"kubernetes:{group_version}:{kind}"


def resource_class(type_token: str) -> Any | None:
    """Return the SDK's class for a resource type, or ``None``: the SDKs know no custom resources of Kubernetes."""
    package, module_name, _ = type_token.split(":")
    module: Any = rpc.get_resource_module(package, module_name, "")
    name = module.mod_info["classes"].get(type_token) if module else None
    return getattr(importlib.import_module(module.mod_info["fqn"]), name) if name else None


def arguments_class(resource: Any) -> Any:
    """Return the class that lists a resource class's inputs (``XInitArgs`` where ``XArgs`` is a nested type)."""
    module = importlib.import_module(resource.__module__)
    return getattr(module, f"{resource.__name__}InitArgs", None) or getattr(module, f"{resource.__name__}Args")
