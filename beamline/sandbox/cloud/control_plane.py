"""The simulated GKE control plane: what it puts into a new cluster, and how a cluster goes away.

The sandbox has one API server, so the simulation has room for one cluster. What the server holds before GKE touches it
is noted once; deleting the cluster takes away everything else, as deleting a real cluster does, finalizers or not.
"""

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from beamline.sandbox.cloud.api_server import ApiServer, Kind, Manifest
from beamline.sandbox.cloud.errors import CloudError
from beamline.sandbox.cloud.ownership import installed_objects
from beamline.sandbox.cloud.simulation import Simulation
from beamline.sandbox.cloud.versions import GkeVersion

__all__ = ["install", "leftovers", "remove_everything"]

_LIMIT_S = 90.0
_POLL_S = 0.1
_SYSTEM_NAMESPACES = {"default", "kube-node-lease", "kube-public", "kube-system"}
_COME_AND_GO = {"APIService", "ComponentStatus", "Event", "Lease", "FlowSchema", "PriorityLevelConfiguration"}
_MADE_BY_KUBERNETES = {
    ("ConfigMap", "kube-root-ca.crt"),
    ("ServiceAccount", "default"),
    ("EndpointSlice", "kubernetes"),
    ("Endpoints", "kubernetes"),
}


def install(simulation: Simulation, cluster: Mapping[str, Any], version: GkeVersion) -> None:
    """Put GKE's own objects into the cluster; safe to repeat. Raises CloudError."""
    api = simulation.api()
    _note_pristine(simulation, api)
    for manifest in installed_objects(cluster, version):
        definition = manifest["kind"] == "CustomResourceDefinition"
        kind = api.kind(manifest["apiVersion"], manifest["kind"])
        api.apply(kind, manifest)
        if definition:
            _await_served(api, manifest)


def remove_everything(simulation: Simulation) -> None:
    """Take away whatever the API server holds that it did not hold before the cluster. Raises CloudError."""
    api = simulation.api()
    deadline = time.monotonic() + _LIMIT_S
    while True:
        found = list(_leftovers(simulation, api))
        if not found:
            (simulation.folder / "pristine.json").unlink(missing_ok=True)
            return
        if time.monotonic() > deadline:
            names = ", ".join(sorted(_title(kind, item) for kind, item in found)[:10])
            raise CloudError(f"Error waiting for deleting GKE cluster: {len(found)} objects would not go: {names}")
        for kind, item in found:
            _remove(api, kind, item)
        time.sleep(_POLL_S)


def leftovers(simulation: Simulation) -> list[str]:
    """Return what the API server holds that it did not hold before the cluster, as ``Kind namespace/name``."""
    return sorted(_title(kind, item) for kind, item in _leftovers(simulation, simulation.api()))


def _remove(api: ApiServer, kind: Kind, item: Manifest) -> None:
    metadata = item["metadata"]
    path = kind.path(metadata.get("namespace", ""), metadata["name"])
    if metadata.get("finalizers") and kind.kind != "Namespace":
        api.merge(path, {"metadata": {"finalizers": None}})  # whoever set them goes with the cluster
    if "deletionTimestamp" not in metadata:
        api.delete(path, grace_s=0)


def _leftovers(simulation: Simulation, api: ApiServer) -> Iterator[tuple[Kind, Manifest]]:
    pristine = _pristine(simulation.folder / "pristine.json")
    if pristine is None:
        return
    for kind in api.kinds():
        if kind.kind in _COME_AND_GO or (kind.kind, kind.group_version) == ("Event", "events.k8s.io/v1"):
            continue
        for item in api.items(kind):
            if _key(kind, item) not in pristine and not _kubernetes_own(kind, item):
                yield kind, item


def _kubernetes_own(kind: Kind, item: Manifest) -> bool:
    metadata = item["metadata"]
    name, namespace = metadata["name"], metadata.get("namespace", "")
    if "kubernetes.io/bootstrapping" in (metadata.get("labels") or {}):
        return True
    if kind.kind in ("ServiceAccount", "ConfigMap", "Role", "RoleBinding") and namespace == "kube-system":
        return not any(entry["manager"] == "gke" for entry in metadata.get("managedFields", []))
    if namespace in _SYSTEM_NAMESPACES and (kind.kind, name) in _MADE_BY_KUBERNETES:
        return True
    return kind.kind == "Namespace" and name in _SYSTEM_NAMESPACES


def _note_pristine(simulation: Simulation, api: ApiServer) -> None:
    path = simulation.folder / "pristine.json"
    if path.exists():
        return
    keys = [_key(kind, item) for kind in api.kinds() if kind.kind not in _COME_AND_GO for item in api.items(kind)]
    work = path.with_suffix(".new")
    work.write_text(json.dumps(sorted(keys), indent=0))
    work.replace(path)


def _pristine(path: Path) -> set[str] | None:
    return set(json.loads(path.read_text())) if path.exists() else None


def _key(kind: Kind, item: Manifest) -> str:
    metadata = item["metadata"]
    return f"{kind.plural}.{kind.group_version.partition('/')[0]}/{metadata.get('namespace', '')}/{metadata['name']}"


def _title(kind: Kind, item: Manifest) -> str:
    metadata = item["metadata"]
    return f"{kind.kind} {'/'.join(filter(None, [metadata.get('namespace'), metadata['name']]))}"


def _await_served(api: ApiServer, manifest: Manifest) -> None:
    spec = manifest["spec"]
    for version in spec["versions"]:
        deadline = time.monotonic() + _LIMIT_S
        while True:
            try:
                api.kind(f"{spec['group']}/{version['name']}", spec["names"]["kind"])
                break
            except CloudError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_POLL_S)
