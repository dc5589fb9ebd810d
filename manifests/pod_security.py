"""What every container of the kit has in common: Pod Security's ``restricted`` level, as far as its work allows.

Written once, so that no workload can drift from the others.
Source: https://kubernetes.io/docs/concepts/security/pod-security-standards/
"""

from __future__ import annotations

from typing import Any

__all__ = ["confined", "unprivileged"]


def confined() -> dict[str, Any]:
    """A container's security context: no capability, no way to more rights, nothing to write on its own root."""
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }


def unprivileged(uid: int) -> dict[str, Any]:
    """A pod's security context: everything in it runs as this user, which is not root."""
    return {
        "runAsNonRoot": True,
        "runAsUser": uid,
        "runAsGroup": uid,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
