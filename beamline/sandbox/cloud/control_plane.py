"""The simulated GKE control plane: what it puts into a new cluster, and how a cluster goes away.

The sandbox has one API server, so the simulation has room for one cluster. What the server holds before GKE touches it
is noted once; deleting the cluster takes away everything else, as deleting a real cluster does, finalizers or not.
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from beamline.sandbox.cloud.api_server import ApiServer, Kind, Manifest
from beamline.sandbox.cloud.errors import CloudError
from beamline.sandbox.cloud.ownership import installed_objects
from beamline.sandbox.cloud.simulation import Simulation
from beamline.sandbox.cloud.versions import GkeVersion

__all__ = ["install", "leftovers", "remove_everything"]

_DEFINITION = "CustomResourceDefinition"
_PRISTINE = "pristine.json"
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
    manifests = installed_objects(cluster, version)
    definitions = [manifest for manifest in manifests if manifest["kind"] == _DEFINITION]
    for manifest in definitions:
        api.apply(api.kind(manifest["apiVersion"], _DEFINITION), manifest)
    _await_served(api, definitions)
    for manifest in manifests:
        if manifest["kind"] != _DEFINITION:
            api.apply(api.kind(manifest["apiVersion"], manifest["kind"]), manifest)


def remove_everything(simulation: Simulation) -> None:
    """Take away whatever the API server holds that it did not hold before the cluster. Raises CloudError."""
    api = simulation.api()
    kinds, deadline = list(api.kinds()), time.monotonic() + _LIMIT_S
    looked_at = kinds
    while True:
        found = list(_leftovers(simulation, api, looked_at))
        if not found and looked_at is kinds:
            (simulation.folder / _PRISTINE).unlink(missing_ok=True)
            return
        if time.monotonic() > deadline:
            names = ", ".join(sorted(_title(kind, item) for kind, item in found)[:10])
            raise CloudError(f"Error waiting for deleting GKE cluster: {len(found)} objects would not go: {names}")
        empty = all(kind.kind == "Namespace" for kind, _ in found)
        for kind, item in found:
            _remove(api, kind, item, empty=empty)
        # What is going is looked at again first; once it is gone, everything is looked at again.
        looked_at = list(dict.fromkeys(kind for kind, _ in found)) or kinds
        if found:
            time.sleep(_POLL_S)


def leftovers(simulation: Simulation) -> list[str]:
    """Return what the API server holds that it did not hold before the cluster, as ``Kind namespace/name``."""
    api = simulation.api()
    return sorted(_title(kind, item) for kind, item in _leftovers(simulation, api, list(api.kinds())))


def _remove(api: ApiServer, kind: Kind, item: Manifest, *, empty: bool) -> None:
    """Delete an object; a namespace goes at once when nothing is left (its controller takes its time to look)."""
    metadata = item["metadata"]
    path = kind.path(metadata.get("namespace", ""), metadata["name"])
    if metadata.get("finalizers") and kind.kind != "Namespace":
        api.merge(path, {"metadata": {"finalizers": None}})  # whoever set them goes with the cluster
    if "deletionTimestamp" not in metadata:
        api.delete(path, grace_s=0)
    elif kind.kind == "Namespace" and empty:
        api.replace(f"{path}/finalize", {**item, "spec": {"finalizers": []}})


def _leftovers(simulation: Simulation, api: ApiServer, kinds: Iterable[Kind]) -> Iterator[tuple[Kind, Manifest]]:
    pristine = _pristine(simulation.folder / _PRISTINE)
    if pristine is None:
        return
    for kind in kinds:
        if kind.kind in _COME_AND_GO:
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
    path = simulation.folder / _PRISTINE
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


def _await_served(api: ApiServer, definitions: Iterable[Manifest]) -> None:
    """Wait until the server serves the kinds just defined."""
    deadline = time.monotonic() + _LIMIT_S
    waiting = {
        (f"{manifest['spec']['group']}/{version['name']}", manifest["spec"]["names"]["kind"])
        for manifest in definitions
        for version in manifest["spec"]["versions"]
    }
    while waiting:
        waiting = {(version, kind) for version, kind in waiting if not api.serves(version, kind)}
        if waiting and time.monotonic() > deadline:
            raise CloudError(f"the sandbox's API server does not serve {sorted(waiting)}")
        if waiting:
            time.sleep(_POLL_S)
