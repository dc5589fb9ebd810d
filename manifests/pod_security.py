"""What every container of the kit has in common: Pod Security's ``restricted`` level, as far as its work allows.

Written once, so that no workload can drift from the others. A transport may ask for more: its row lists the Linux
capabilities, a container gets exactly these, and its namespace the strictest level that admits them.
Source: https://kubernetes.io/docs/concepts/security/pod-security-standards/
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Literal

__all__ = ["Level", "confined", "level_admitting", "loosest", "runs_as", "unprivileged"]

Level = Literal["restricted", "baseline", "privileged"]
_BY_STRICTNESS: tuple[Level, ...] = ("restricted", "baseline", "privileged")
_BASELINE = {
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
}
"""Capabilities that a container may add at the level ``baseline`` (Pod Security Standards, Capabilities)."""


def loosest(levels: Iterable[Level]) -> Level:
    """Return the least strict of ``levels``; ``restricted`` without any."""
    return max(levels, key=_BY_STRICTNESS.index, default="restricted")


def level_admitting(capabilities: Collection[str]) -> Level:
    """Return the strictest level that admits containers which add ``capabilities`` (and run as ``runs_as`` says).

    ``restricted`` also asks for a user that is not root, and who adds a capability is root.
    """
    if not capabilities:
        return "restricted"
    return "baseline" if _BASELINE.issuperset(capabilities) else "privileged"


def confined(capabilities: Collection[str] = ()) -> dict[str, Any]:
    """A container's security context: no capability but these, no way to more, nothing to write on its own root."""
    added = {"add": sorted(capabilities)} if capabilities else {}
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"], **added},
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


def runs_as(uid: int, capabilities: Collection[str]) -> dict[str, Any]:
    """The security context of a pod one of whose containers adds ``capabilities``: root's if there are any.

    A process of another user does not get an added capability: Kubernetes sets no ambient ones (enhancement 2763).
    """
    if not capabilities:
        return unprivileged(uid)
    return {"runAsUser": 0, "runAsGroup": 0, "seccompProfile": {"type": "RuntimeDefault"}}
