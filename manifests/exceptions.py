"""Every place where a pod gets more than Pod Security's level ``restricted`` admits: which pod, what, why, who says so.

A namespace has the strictest level that admits the exceptions of the pods in it, and nothing else. Rows about charts
say what the chart's pods need; their templates are not the kit's. Tests hold the table against every rendered pod.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from manifests.pod_security import Level, loosest

__all__ = ["EXCEPTIONS", "SecurityException", "level_for"]

Status = Literal["documented", "derived", "unverified"]


@dataclass(frozen=True)
class SecurityException:
    """One departure from ``restricted``.

    ``pods`` is the workload or the chart, ``field`` what the pod says, ``level`` the strictest level that admits it.
    ``status`` tells how it is known that nothing less will do. ``chart`` marks pods of a third party's chart.
    """

    pods: str
    field: str
    level: Level
    why: str
    source: str
    status: Status
    chart: bool = False


_SEEDING = "manifests/seeding.py"
_LOCAL_SSD = "GKE docs, raw block local SSD; manifests/local_ssd.py"
_AGENT = "GoogleCloudPlatform/container-engine-accelerators, asapd-lite-installer"
_RDMA = (
    "AI Hypercomputer docs, A4X Max; Google's recipes run RDMA pods privileged, the least that works is nowhere said"
)
_DRIVER = "kubernetes-sigs/dra-driver-nvidia-gpu, deployments/helm"

EXCEPTIONS = (
    SecurityException(
        "engine", "capabilities.add: IPC_LOCK", "privileged",
        "RDMA registers memory, which locks its pages; only with a transport over RDMA", _RDMA, "unverified",
    ),
    SecurityException(
        "engine", "runAsUser: 0", "baseline",
        "Kubernetes gives an added capability to root only; only with a transport over RDMA",
        "Kubernetes enhancement 2763, ambient capabilities", "documented",
    ),
    SecurityException(
        "seeding", "runAsUser: 0", "baseline", "the folder of weights belongs to the node's root", _SEEDING, "derived"
    ),
    SecurityException(
        "seeding", "volumes: hostPath", "privileged",
        "weights are written once per node, to its local SSD; engines read them through a local volume", _SEEDING,
        "derived",
    ),
    SecurityException(
        "local-ssd", "privileged: true", "privileged",
        "it writes block devices and mounts for the node; only where local SSD is raw block", _LOCAL_SSD, "derived",
    ),
    SecurityException(
        "local-ssd", "hostPID: true", "privileged", "it runs the node's own tools in the node's mount namespace",
        _LOCAL_SSD, "derived",
    ),
    SecurityException(
        "asapd-lite", "privileged: true", "privileged", "it configures PCI devices and writes udev rules", _AGENT,
        "documented",
    ),
    SecurityException(
        "asapd-lite", "hostNetwork: true", "privileged", "the cards it sets up are in the node's network", _AGENT,
        "documented",
    ),
    SecurityException(
        "asapd-lite", "hostPID: true", "privileged", "it finds and signals the node's network processes", _AGENT,
        "documented",
    ),
    SecurityException(
        "asapd-lite", "volumes: hostPath", "privileged", "devices, udev and systemd of the node", _AGENT, "documented"
    ),
    SecurityException(
        "dra-driver", "privileged: true", "privileged", "kubelet plugins and IMEX daemons make device nodes", _DRIVER,
        "documented", chart=True,
    ),
    SecurityException(
        "dra-driver", "volumes: hostPath", "privileged", "the kubelet's plugin folders and the driver's", _DRIVER,
        "documented", chart=True,
    ),
    SecurityException(
        "dynamo", "seccompProfile: not set", "baseline", "the chart's pods name no profile, and no value sets one",
        "ai-dynamo/dynamo, deploy/helm/charts/platform", "documented", chart=True,
    ),
)  # fmt: skip


def level_for(pods: Collection[str]) -> Level:
    """Return the strictest level that admits these pods with all their exceptions."""
    return loosest(row.level for row in EXCEPTIONS if row.pods in pods)
