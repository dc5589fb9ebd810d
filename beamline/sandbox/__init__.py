"""The sandbox: a stack applied for real on this machine, with Google Cloud, kubelets and containers simulated.

Real are Pulumi's engine and providers for Kubernetes, etcd, the API server, scheduler and controller manager. SIMULATED
are Google Cloud (``cloud``), GKE's controllers (``operators``), and nodes and pods (kwok, ``stages``).
"""

from __future__ import annotations

from beamline.sandbox.home import DEFAULT_TIME_SCALE, sandbox_names
from beamline.sandbox.inspection import ProcessStatus, Shell, Status, log_names, logs, shell, status
from beamline.sandbox.lifecycle import DownResult, UpResult, down, opened, refresh, up
from beamline.sandbox.progress import Progress, Report, print_progress

__all__ = [
    "DEFAULT_TIME_SCALE",
    "DownResult",
    "ProcessStatus",
    "Progress",
    "Report",
    "Shell",
    "Status",
    "UpResult",
    "down",
    "log_names",
    "logs",
    "opened",
    "print_progress",
    "refresh",
    "sandbox_names",
    "shell",
    "status",
    "up",
]
