"""What every node of a stack has in common, whatever its machine type.

Least privilege and hardening stand here once: the stack's own service account, tokens for pods only through Workload
Identity, no legacy metadata endpoints, no unauthenticated kubelet port, verified boot where the machine has a virtual
TPM to verify it with.

Hardening: https://cloud.google.com/kubernetes-engine/docs/how-to/hardening-your-cluster
"""

from typing import Any

import pulumi

from stacks.taints import GKE_EFFECTS, parse

__all__ = ["node_config", "taints"]

_KUBERNETES = "kubernetes.io/"


def node_config(
    service_account: pulumi.Input[str],
    *,
    shielded: bool = True,
    gvnic: bool = True,
    encryption_key: str | None = None,
) -> dict[str, Any]:
    """Return the part of a ``nodeConfig`` that does not depend on the machine type.

    ``shielded`` false switches verified boot off, ``gvnic`` false leaves the driver of the network card to GKE: writing
    it as off would read as a change for ever, and changing it replaces the pool. ``encryption_key`` is Cloud
    KMS's for the boot disk; None: Google's own.
    """
    config: dict[str, Any] = {
        "service_account": service_account,
        "oauth_scopes": ["https://www.googleapis.com/auth/cloud-platform"],  # IAM decides, not scopes
        "image_type": "COS_CONTAINERD",
        "metadata": {"disable-legacy-endpoints": "true"},
        "workload_metadata_config": {"mode": "GKE_METADATA"},
        "shielded_instance_config": {"enable_secure_boot": shielded, "enable_integrity_monitoring": shielded},
        "kubelet_config": {"insecure_kubelet_readonly_port_enabled": "FALSE"},
    }
    if gvnic:
        config["gvnic"] = {"enabled": True}
    if encryption_key:
        config["boot_disk_kms_key"] = encryption_key
    return config


def taints(written: list[str]) -> list[dict[str, str]]:
    """Return GKE's form of taints in Kubernetes' own notation, ``key=value:Effect``; raises ``ValueError``.

    Those of Kubernetes' own domain, such as that of the architecture, are left out: GKE sets them by itself.
    """
    parsed = [taint for text in written if not (taint := parse(text)).key.startswith(_KUBERNETES)]
    return [{"key": t.key, "value": t.value, "effect": GKE_EFFECTS[t.effect]} for t in parsed]
