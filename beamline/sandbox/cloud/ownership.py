"""What GKE installs in a cluster of given settings and version, from ``ownership.yaml``."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from beamline.crds import all_definitions
from beamline.sandbox.cloud.tables import table
from beamline.sandbox.cloud.versions import GkeVersion

__all__ = ["Owned", "installed_objects", "ownership"]

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Owned:
    """One object and who installs it."""

    kind: str
    name: str
    owner: str
    when: str
    since: str
    source: str


@cache
def ownership() -> tuple[Owned, ...]:
    """Return the whole table."""
    return tuple(Owned(**row) for row in table("ownership.yaml"))


def installed_objects(cluster: Mapping[str, Any], version: GkeVersion) -> list[dict[str, Any]]:
    """Return the objects GKE puts into a cluster with these inputs, definitions first."""
    settings = _settings(cluster)
    wanted = {
        (row.kind, row.name)
        for row in ownership()
        if row.owner == "GKE" and row.when in settings and (not row.since or GkeVersion.parse(row.since) <= version)
    }
    return [manifest for key, manifest in _manifests().items() if key in wanted]


def _settings(cluster: Mapping[str, Any]) -> set[str]:
    addons = cluster.get("addonsConfig") or {}
    on = {
        "gateway_api": (cluster.get("gatewayApiConfig") or {}).get("channel") == "CHANNEL_STANDARD",
        "managed_prometheus": ((cluster.get("monitoringConfig") or {}).get("managedPrometheus") or {}).get(
            "enabled", True
        ),
        "secret_manager": (cluster.get("secretManagerConfig") or {}).get("enabled", False),
        "gcs_fuse": (addons.get("gcsFuseCsiDriverConfig") or {}).get("enabled", False),
        "persistent_disk": (addons.get("gcePersistentDiskCsiDriverConfig") or {}).get("enabled", True),
        "dataplane_v2": cluster.get("datapathProvider") == "ADVANCED_DATAPATH",
        "performance_hpa": (cluster.get("podAutoscaling") or {}).get("hpaProfile") == "PERFORMANCE",
        "always": True,
    }
    return {name for name, value in on.items() if value}


@cache
def _manifests() -> dict[tuple[str, str], dict[str, Any]]:
    definitions = [definition.manifest for definition in all_definitions()]
    others = table("gke_objects.yaml")
    return {(manifest["kind"], manifest["metadata"]["name"]): manifest for manifest in [*definitions, *others]}
