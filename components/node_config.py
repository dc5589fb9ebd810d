"""What every node of a stack has in common, whatever its machine type.

Least privilege and hardening stand here once: the stack's own service account, tokens for pods only through Workload
Identity, no legacy metadata endpoints, no unauthenticated kubelet port, verified boot.

Hardening: https://cloud.google.com/kubernetes-engine/docs/how-to/hardening-your-cluster
"""

from typing import Any

import pulumi

__all__ = ["node_config", "taints"]

_EFFECTS = {
    "NoSchedule": "NO_SCHEDULE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
}


def node_config(service_account: pulumi.Input[str]) -> dict[str, Any]:
    """Return the part of a ``nodeConfig`` that does not depend on the machine type."""
    return {
        "service_account": service_account,
        "oauth_scopes": ["https://www.googleapis.com/auth/cloud-platform"],  # IAM decides, not scopes
        "image_type": "COS_CONTAINERD",
        "metadata": {"disable-legacy-endpoints": "true"},
        "workload_metadata_config": {"mode": "GKE_METADATA"},
        "shielded_instance_config": {"enable_secure_boot": True, "enable_integrity_monitoring": True},
        "kubelet_config": {"insecure_kubelet_readonly_port_enabled": "FALSE"},
        "gvnic": {"enabled": True},
    }


def taints(written: list[str]) -> list[dict[str, str]]:
    """Return GKE's form of taints in Kubernetes' own notation, ``key=value:Effect``; raises ``ValueError``."""
    parsed = []
    for text in written:
        key_and_value, _, effect = text.rpartition(":")
        key, _, value = key_and_value.partition("=")
        if not key or not value or effect not in _EFFECTS:
            raise ValueError(f"{text!r} is no taint: write key=value:Effect, Effect one of {', '.join(_EFFECTS)}")
        parsed.append({"key": key, "value": value, "effect": _EFFECTS[effect]})
    return parsed
