"""Volumes of CSI drivers that are GKE's add-ons: the cluster has the driver, and the pod asks for what it adds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from beamline.engine.graph import Graph
from policies.objects import OPAQUE, entries, plain, pod_templates, registered_objects, section
from policies.rule import Finding, Rule

__all__ = ["RULES"]

_CLUSTER = "gcp:container/cluster:Cluster"
_FUSE = "gcsfuse.csi.storage.gke.io"
_FUSE_ANNOTATION = "gke-gcsfuse/volumes"
_ADDONS: Mapping[str, tuple[str, ...]] = {
    _FUSE: ("addonsConfig", "gcsFuseCsiDriverConfig", "enabled"),
    "secrets-store-gke.csi.k8s.io": ("secretManagerConfig", "enabled"),
}
"""Driver -> where a cluster's arguments switch it on. Drivers that are always there are not listed."""


def _drivers(graph: Graph) -> Iterator[tuple[str, str, str]]:
    """Yield path, resource and driver of every volume that names a driver."""
    for template in pod_templates(graph):
        for index, volume in enumerate(entries(template.spec.get("volumes"))):
            if driver := section(volume.get("csi")).get("driver"):
                yield f"{template.path}.spec.volumes[{index}].csi.driver", template.owner.urn, str(driver)
    for obj in registered_objects(graph):
        if obj.kind == "PersistentVolume" and (driver := section(obj.at("spec", "csi")).get("driver")):
            yield f"{obj.path}.spec.csi.driver", obj.urn, str(driver)


def _is_on(inputs: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    found: Any = inputs
    for key in path:
        found = section(found).get(key)
    return found in (True, OPAQUE)


def _driver_off(graph: Graph) -> Iterator[Finding]:
    clusters = [section(plain(dict(resource.inputs))) for resource in graph.resources if resource.type == _CLUSTER]
    for path, urn, driver in _drivers(graph):
        place = _ADDONS.get(driver)
        if place and clusters and not any(_is_on(cluster, place) for cluster in clusters):
            yield Finding(
                path=path,
                urn=urn,
                value=driver,
                detail="the cluster does not have this driver",
                allowed=f"a cluster with {'.'.join(place)}: true",
            )


def _nothing_mounts(graph: Graph) -> Iterator[Finding]:
    for template in pod_templates(graph):
        drivers = [section(volume.get("csi")).get("driver") for volume in entries(template.spec.get("volumes"))]
        if _FUSE in drivers and template.annotations.get(_FUSE_ANNOTATION) not in ("true", "True", OPAQUE):
            yield Finding(
                path=f"{template.path}.metadata.annotations",
                urn=template.owner.urn,
                detail="nothing adds the container that mounts the bucket",
                allowed=f'{_FUSE_ANNOTATION}: "true"',
            )


_WHY = "the pod would stay in ContainerCreating"

RULES = (
    Rule(
        id="csi-driver-off",
        why=_WHY,
        remedy="switch the add-on on, or use another volume",
        source="GKE docs, Cloud Storage FUSE CSI driver; GKE docs, Secret Manager add-on",
        find=_driver_off,
    ),
    Rule(
        id="gcs-fuse-annotation",
        why=_WHY,
        remedy="add the annotation to the pod template",
        source="GKE docs, mount Cloud Storage buckets as CSI ephemeral volumes",
        find=_nothing_mounts,
    ),
)
