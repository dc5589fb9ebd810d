"""The checks, in the order the result lists them: first what everything else stands on."""

from __future__ import annotations

from typing import Any

from beamline.preflight.checks.addresses import NEW_NETWORK, SUBNETWORK
from beamline.preflight.checks.apis import APIS
from beamline.preflight.checks.certificates import CERTIFICATE
from beamline.preflight.checks.cuda import CUDA
from beamline.preflight.checks.disks import DISK
from beamline.preflight.checks.host_maintenance import HOST_MAINTENANCE
from beamline.preflight.checks.images import IMAGES
from beamline.preflight.checks.machine_types import MACHINE_TYPES
from beamline.preflight.checks.permissions import PERMISSIONS
from beamline.preflight.checks.programs import PROGRAMS
from beamline.preflight.checks.quotas import QUOTAS
from beamline.preflight.checks.reservations import RESERVATION
from beamline.preflight.checks.service_agent import SERVICE_AGENT
from beamline.preflight.checks.versions import CLUSTER, VERSIONS
from beamline.preflight.checks.weights import WEIGHTS
from beamline.preflight.findings import Check

__all__ = ["CHECKS", "CLOUD_CHECKS"]

CLOUD_CHECKS: tuple[Check[Any], ...] = (
    APIS,
    PERMISSIONS,
    SERVICE_AGENT,
    MACHINE_TYPES,
    VERSIONS,
    CLUSTER,
    QUOTAS,
    RESERVATION,
    HOST_MAINTENANCE,
    NEW_NETWORK,
    SUBNETWORK,
    WEIGHTS,
    DISK,
    CERTIFICATE,
    IMAGES,
    CUDA,
)
"""About the project, the registries and the hub."""

CHECKS: tuple[Check[Any], ...] = (*CLOUD_CHECKS, PROGRAMS)
"""The same, and about this machine."""
